"""A study of cross-lingual ability and language-specific information in multilingual BERT."""
