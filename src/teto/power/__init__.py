"""Power meters give joules with their boundary, behind the `PowerMeter` port."""
