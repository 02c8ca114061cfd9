"""python -m microagg"""

from microagg.cli import main

main()
