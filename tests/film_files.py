"""DICOM files made for tests, with an invented patient whose words must never come out."""

import io

import numpy as np
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ComputedRadiographyImageStorage, ExplicitVRLittleEndian

CANARIES = ("DOE^JANE", "ID-12345", "TEST HOSPITAL", "19700101", "DOE", "12345")


def dataset(stored: np.ndarray, bits: int | None = None, **tags: object) -> Dataset:
    """A film with an invented patient; `tags` replace those that follow from the pixels."""
    made = Dataset()
    made.SpecificCharacterSet = "ISO_IR 100"
    made.SOPClassUID = ComputedRadiographyImageStorage
    made.SOPInstanceUID = "1.2.826.0.1.3680043.8.498.12345"
    made.Modality = "CR"
    made.InstitutionName = "TEST HOSPITAL"
    made.PatientName, made.PatientID = "DOE^JANE", "ID-12345"
    made.PatientBirthDate = "19700101"
    coloured = stored.ndim == 3
    made.SamplesPerPixel = 3 if coloured else 1
    made.PhotometricInterpretation = "RGB" if coloured else "MONOCHROME2"
    if coloured:
        made.PlanarConfiguration = 0
    made.Rows, made.Columns = stored.shape[:2]
    size = 8 * stored.itemsize
    made.BitsAllocated, made.BitsStored = size, bits or size
    made.HighBit = made.BitsStored - 1
    made.PixelRepresentation = int(stored.dtype.kind == "i")
    made.add_new("PixelData", "OW" if size == 16 else "OB", stored.tobytes())
    for keyword, value in tags.items():
        setattr(made, keyword, value)
    return made


def written(made: Dataset, syntax: str = ExplicitVRLittleEndian, *, bare: bool = False) -> bytes:
    """The bytes of a file; bare is without preamble and without the group that tells of itself."""
    if syntax == "1.2.840.10008.1.2.2" and made.BitsAllocated == 16:  # big endian
        made.PixelData = np.frombuffer(made.PixelData, "<u2").astype(">u2").tobytes()
    out = io.BytesIO()
    if bare:
        implicit, little = syntax == "1.2.840.10008.1.2", syntax != "1.2.840.10008.1.2.2"
        made.save_as(out, implicit_vr=implicit, little_endian=little, enforce_file_format=False)
        return out.getvalue()
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = syntax
    made.save_as(out, enforce_file_format=True)
    return out.getvalue()
