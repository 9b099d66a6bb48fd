"""Use cases of attachments: receive images, prove that they are images, and make thumbnails."""
