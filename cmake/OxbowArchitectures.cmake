# Architectures: the file name in src/model/architectures is the registration.
