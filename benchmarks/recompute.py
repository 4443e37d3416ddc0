import numpy as np
from scipy import stats


def verdict(pair, k):  # of one of a claim's k comparisons, as verdicts.json has them
    d, sign = np.subtract(pair["left_values"], pair["right_values"]), pair["relation"]
    margin, known = pair["margin"], pair["spread"] or {"sd": 0, "seeds": 1}

    def shown(d, level, bound, side):  # the mean is above (side 1) or below (-1) the bound
        n, df = len(d), len(d) + known["seeds"] - 2
        sd = np.sqrt((n * d.var() + (known["seeds"] - 1) * known["sd"] ** 2) / df)
        t, skew = stats.t.isf(level, df), np.mean((d - d.mean()) ** 3) / (d.std() or 1) ** 3
        t += max(-side * skew, 0) * (1 + 2 * t**2) / (6 * np.sqrt(n))
        return side * (d.mean() - bound) * np.sqrt(n) > t * sd

    side = 1 if (d.mean() > 0 if sign == "~" else ">" in sign) else -1
    inside, edge = [(-margin, 1), (margin, -1)], -side * margin * ("=" in sign)
    yes, no = (inside, (side * margin, side)) if sign == "~" else ([(edge, side)], (edge, -side))
    tests = [("NO EFFECT", inside, k), ("SUPPORTED", yes, 1), ("REFUTED", [no], k)]
    for name, sides, of in tests[sign not in ("<", ">") :]:
        all_and_without_one = [d, *(np.delete(d, i) for i in range(len(d)) if len(d) > 2)]
        if all(shown(x, pair["alpha"] / of, *s) for x in all_and_without_one for s in sides):
            return name
    return "UNDECIDED"
