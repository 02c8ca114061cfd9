"""What everybody may know: errors, the recipe, the certificate, groups, files, progress."""
