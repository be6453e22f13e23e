"""The verbs that run studies, one file each."""
