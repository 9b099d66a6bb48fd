"""Messages: composed from templates, sent by SMTP, delivered from the outbox."""
