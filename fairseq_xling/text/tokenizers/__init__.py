"""Tokenizers of pretrained encoders, used unchanged: their vocabularies and how they split text.

`vocabulary` reads the symbols of a Hugging Face folder in our spelling, `pieces` splits text by its
``tokenizer.json``, using the library ``tokenizers`` (pip install 'fairseq_xling[hf]').
"""
