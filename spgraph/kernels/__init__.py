"""What a device can do with a block: one contract, one folder per kind of device."""
