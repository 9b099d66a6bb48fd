"""The records of a zip archive (PKWARE APPNOTE 6.3.10), for reading and writing."""

from struct import Struct

LOCAL = Struct("<4s5H3L2H")
"""Local header (4.3.7): signature, version, flags, method, time, date, CRC-32, compressed size,
size, length of the name, length of the extra fields."""
LOCAL_SIGNATURE = b"PK\x03\x04"

CENTRAL = Struct("<4s2B5H3L5H2L")
"""Header in the directory (4.3.12): signature, version and system that made it, version, flags,
method, time, date, CRC-32, compressed size, size, lengths of name, extra fields and comment, disk,
internal attributes, external attributes, offset of the local header."""
CENTRAL_SIGNATURE = b"PK\x01\x02"

END = Struct("<4s4H2LH")
"""End of the directory (4.3.16): signature, disk, disk of the directory, entries on the disk,
entries, size and offset of the directory, length of the comment."""
END_SIGNATURE = b"PK\x05\x06"

ZIP64_END = Struct("<4sQ2H2L4Q")
"""ZIP64 end of the directory (4.3.14): signature, size of the rest, version made by, version, disk,
disk of the directory, entries on the disk, entries, size and offset of the directory."""
ZIP64_END_SIGNATURE = b"PK\x06\x06"
ZIP64_END_REST = ZIP64_END.size - 12

ZIP64_LOCATOR = Struct("<4sLQL")
"""Locator of that record (4.3.15): signature, its disk, its offset, number of disks."""
ZIP64_LOCATOR_SIGNATURE = b"PK\x06\x07"

ZIP64_EXTRA = 0x0001
"""Extra field with sizes and offsets that need 64 bits (4.5.3): size, compressed size, offset of
the local header. The directory has only those that are all ones in its header, a local header both
sizes."""
UNICODE_PATH_EXTRA = 0x7075
"""Extra field with the name in UTF-8 and the CRC-32 of the name in the header (4.6.9)."""

STORED = 0
DEFLATED = 8

ENCRYPTED_FLAG = 0x0001
DESCRIPTOR_FLAG = 0x0008
"""Sizes and CRC-32 follow the data instead of being in the local header (4.3.9)."""
STRONG_ENCRYPTION_FLAG = 0x0040
UTF8_FLAG = 0x0800
MASKED_FLAG = 0x2000
"""The directory is encrypted, and local headers have no values."""

UNIX = 3
MACOS = 19
"""Systems whose external attributes have a file mode in the upper 16 bits."""

MAX_16 = 0xFFFF
MAX_32 = 0xFFFFFFFF
