"""`python -m catchment` is the same as `catchment`."""

from catchment.cli import main

if __name__ == "__main__":
    main()
