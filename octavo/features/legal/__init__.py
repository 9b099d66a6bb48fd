"""Legal documents and the consent of accounts to them."""
