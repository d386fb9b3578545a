# Libraries of the text module.
