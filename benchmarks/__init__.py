"""Speed and accuracy, beside the real peer, measured in one run."""
