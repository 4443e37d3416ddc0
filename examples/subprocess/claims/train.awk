# Logistic regression on one feature by SGD; prints a measure and its value a line.
function draw() { return rand() + rand() + rand() - 1.5 }
BEGIN {
    srand(seed)
    for (step = 1; step <= steps; step++) {
        y = rand() < 0.5; x = draw() + (y ? shift : -shift)
        p = 1 / (1 + exp(-(w * x + b)))
        w += rate * (y - p) * x; b += rate * (y - p)
    }
    for (i = 1; i <= 500; i++) {
        y = rand() < 0.5; x = draw() + (y ? shift : -shift)
        right += ((w * x + b > 0) == y)
    }
    printf "accuracy %.4f\n", 100 * right / 500
}
