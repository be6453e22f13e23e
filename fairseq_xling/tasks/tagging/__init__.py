"""Cross-lingual tagging of words: mapped vectors, a shared BiLSTM, a language adversary.

Words of two languages have vectors in one space; a network that knows no language reads them, and
a discriminator that cannot tell the languages apart from its states shows that it does not.
"""
