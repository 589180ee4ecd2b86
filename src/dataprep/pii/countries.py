"""Country codes, the minimum number of digits in each country (ITU-T E.164, national plans), and mobile numbers.

The first digits of mobile numbers are in `mobiles.txt`, which scripts/make_phones.py writes.

Slow reference for the tests: tests/twins/bare_runs.py
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from dataprep.unicode.text import U8

# Code:fewest digits after it.
NATIONAL = """
1:10 7:10 20:8 27:9 30:10 31:9 32:8 33:9 34:9 36:8 39:6 40:9 41:9 43:6 44:9 45:8 46:7 47:8 48:9 49:6 51:8 52:10 53:8
54:10 55:10 56:9 57:8 58:10 60:8 61:9 62:7 63:8 64:8 65:8 66:8 81:9 82:8 84:9 86:10 90:10 91:10 92:9 93:9 94:9 95:7
98:8 211:9 212:9 213:8 216:8 218:8 220:7 221:9 222:8 223:8 224:8 225:8 226:8 227:8 228:8 229:8 230:7 231:7 232:8
233:9 234:8 235:8 236:8 237:8 238:7 239:7 240:9 241:7 242:9 243:7 244:9 245:7 246:7 247:5 248:7 249:9 250:9 251:9
252:7 253:8 254:8 255:9 256:9 257:8 258:8 260:9 261:9 262:9 263:8 264:7 265:7 266:8 267:7 268:7 269:7 290:5 291:7
297:7 298:6 299:6 350:8 351:9 352:5 353:7 354:7 355:8 356:8 357:8 358:5 359:7 370:8 371:8 372:7 373:8 374:8 375:9
376:6 377:8 378:6 380:9 381:7 382:8 383:8 385:8 386:8 387:8 389:8 420:9 421:8 423:7 500:5 501:7 502:8 503:8 504:8
505:8 506:8 507:7 508:6 509:8 590:9 591:8 592:7 593:8 594:9 595:8 596:9 597:6 598:7 599:7 670:7 672:6 673:7 674:7
675:7 676:5 677:5 678:5 679:7 680:7 681:6 682:5 683:5 685:5 686:5 687:6 688:5 689:6 690:5 691:7 692:7 800:8 808:8
850:8 852:8 853:8 855:8 856:8 870:9 878:10 880:8 881:8 882:7 883:7 886:8 888:7 960:7 961:7 962:8 963:8 964:8 965:7
966:8 967:7 968:8 970:8 971:8 972:8 973:8 974:7 975:7 976:8 977:8 979:9 992:9 993:8 994:9 995:9 996:9 998:9
"""


MOST_CODE, FIRST = 3, 3  # digits of a code; digits of the mobile number after it that identify it


class Mobiles(NamedTuple):
    """The mobile numbers of a country: their numbers of digits, and their first three digits."""

    sizes: frozenset[int]
    first: frozenset[int]


@cache
def mobiles() -> dict[str, Mobiles]:
    """Return the mobile numbers of each country, by country code."""
    text = resources.files(__package__).joinpath("mobiles.txt").read_text("utf-8").replace("\n ", " ")
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {
        code: Mobiles(
            frozenset(map(int, sizes.split(","))),
            frozenset(n for one in ranges for n in range(int(one[:FIRST]), int(one[-FIRST:]) + 1)),
        )
        for code, sizes, *ranges in rows
    }


def is_mobile(digits: str) -> bool:
    """Return whether digits are a country code and a mobile number of that country, 11 to 13 digits: 212612345678."""
    for n in range(1, MOST_CODE + 1):
        plan = mobiles().get(digits[:n])
        if plan is not None:
            return len(digits) - n in plan.sizes and int(digits[n : n + FIRST]) in plan.first
    return False


@cache
def fewest() -> U8:
    """Return the minimum number of digits, country code included, by a number's first three digits, uint8[1000].

    The value is 0 if no country has the code.
    """
    table = np.zeros(1000, np.uint8)
    for code, least in (entry.split(":") for entry in NATIONAL.split()):
        same = 10 ** (3 - len(code))
        table[int(code) * same : (int(code) + 1) * same] = len(code) + int(least)
    table.flags.writeable = False
    return table


FEWEST = fewest()
