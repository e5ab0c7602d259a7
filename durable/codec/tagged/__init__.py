"""The tagged form: values as plain JSON in which an object with "~" is what JSON lacks."""
