"""Mail: messages composed from templates, sent by SMTP, delivered from the outbox of the store.

The outbox has no texts and no secrets. A message is composed when it is sent, and so is the token
in it, of which only the digest is stored.
"""
