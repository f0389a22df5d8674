"""The memory page: reports read, the peak, the curve, what vanished, the segments."""
