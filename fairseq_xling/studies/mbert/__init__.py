"""The studies of multilingual BERT: size and window, similarity of languages, mapped layers."""
