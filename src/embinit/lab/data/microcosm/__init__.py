"""A small made language, so that the mechanism of pre-trained embeddings can act in CPU minutes.

Why it has the properties it has:

- *Classes of near-synonyms*, Zipf-distributed within a class (Zipf 1949): most words are rare in
  a small training set, but what holds for a rare word can be learned from its frequent synonyms.
- *Selectional preferences* (Resnik 1996), drawn from a sparse Dirichlet: a verb class prefers a few
  noun classes on either side, a noun class a few adjective classes. So words of one class share
  their neighbours, and a class can be learned from unlabelled text (Firth 1957).
- *Polarity of adjectives*, seen in conjunctions: 'and' joins adjectives of one polarity, 'but'
  opposite ones (Hatzivassiloglou and McKeown 1997).
- *Two word orders*: the source language puts the verb last, adjectives before the noun and the
  negation before what it negates; the target language puts the verb second and adjectives and
  negation behind. So positions are needed for more than counting words.
- *A related language*: the source with other words for half of its classes. A model of both can
  learn the meaning of the other half from the half that they share.

- *Data draws*: words, preferences and every text are new on each draw, a number. The grammar,
  the sizes and the frequencies of constructions are the same in all of them. Draw 0 is the one
  that settings were chosen on (``draws``).

Nothing is downloaded and nothing depends on inits. Everything follows from ``SEED`` and the draw;
the text is the same on every machine. Each sentence of a draw belongs to one ``Share`` by its
checksum, so its training, validation, test and unlabelled text can't overlap.
"""
