"""Tokenizers of pretrained encoders, used as they are: their vocabularies and how they cut text.

`vocabulary` reads the symbols of a Hugging Face folder in our spelling, `pieces` cuts text as its
``tokenizer.json`` says, by the library ``tokenizers`` (pip install 'fairseq_xling[hf]').
"""
