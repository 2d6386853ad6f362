"""Films: DICOM, PNG and JPEG to greys."""
