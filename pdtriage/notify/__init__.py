"""Tells people of a failure where they read: chats, e-mail, webhooks."""
