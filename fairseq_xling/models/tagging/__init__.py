"""The adversarial tagger: a shared BiLSTM, a CRF, a discriminator of languages."""
