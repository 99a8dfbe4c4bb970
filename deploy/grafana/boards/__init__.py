"""One board a module, found by its folder: ``board()`` builds it, the module's name is its file's."""
