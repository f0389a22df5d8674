"""The timeline's index: where each event is drawn, and how busy each pixel is; numpy on disk."""
