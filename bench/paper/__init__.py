"""What https://arxiv.org/abs/2510.26008 reports of its system, measured of this one."""
