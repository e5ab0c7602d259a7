"""Writes `transfers.json`: made-up people at made-up banks, from a seed. `python -m infra.demo.invent`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from infra.demo.scenario import SOURCE

SEED = 2026
TRANSFERS = 200

BANKS = {
    "NORD": "Nordlicht Bank",
    "ATLA": "Banco Atlantida",
    "TUSS": "Tussen Spaarbank",
    "GALE": "Gale & Harbour",
    "KOMP": "Kompas Banka",
    "RIVA": "Cassa di Riva",
}
PEOPLE = (
    "Ada Brandt, Aisha Diallo, Alma Lindqvist, Amir Haddad, Ana Quintela, Bao Tran, Beata Nowicka, Bruno Keller, "
    "Carla Moreira, Chidi Okafor, Clara Duval, Dario Conti, Dora Szabo, Elif Aydin, Emil Sorensen, Esra Polat, "
    "Farid Rahimi, Femke de Wit, Gita Menon, Goran Petrovic, Hana Novak, Henrik Aalto, Ida Fontana, Ines Carvalho, "
    "Ivo Marek, Jana Kovar, Jonas Weber, Kaja Pihl, Kofi Mensah, Lena Hartmann, Leo Marchetti, Lucia Romero, "
    "Maeve Byrne, Marek Zielinski, Mina Sato, Nadia Benali, Nils Eklund, Noor Bakker, Olga Sidorova, Omar Farouk, "
    "Paula Vidal, Pedro Santos, Petra Vogel, Rania Khoury, Rosa Galli, Samir Patel, Sanna Virtanen, Tiago Lopes, "
    "Vera Kuznetsova, Yara Mansour"
)
COMPANIES = (
    "Bakkerij De Zon, Bluebell Dental, Casa Verde Rentals, Copper Kettle Cafe, Delta Hosting, Fjord Outdoor, "
    "Granit Bau, Lumen Electric, Marisol Travel, Odeon Theatre, Pinecone Toys, Quarto Books, Stadtwerke Mitte, Velo 54"
)
PURPOSES = (
    "Rent for March | Invoice 2026-0417 | Invoice 2026-0533 | Birthday present | Guitar lessons | Dinner on Friday | "
    "Electricity, second quarter | Dentist | Down payment | Club membership | Concert tickets | Garage repair | "
    "Holiday fund | Books | Water bill | Refund | Deposit | Choir trip | New bicycle | Web hosting, one year"
)

FOR_EVER = 99
TROUBLE: dict[str, dict[str, Any]] = {
    "closed": {"closed": True},
    "declines every payment": {"credit": ("declines", FOR_EVER, "the bank takes no payments from other banks today")},
    "held by the supervisor": {"entry": ("declines", FOR_EVER, "the supervisor holds payments to this account")},
    "books and never answers": {"credit": ("hangs-after-booking", FOR_EVER)},
    "always fails": {"credit": ("fails-before-booking", FOR_EVER)},
    "notices never arrive": {"notice": ("fails-after-booking", FOR_EVER)},
    "answers late once": {"credit": ("hangs-after-booking", 1)},
    "answers late once, debits": {"debit": ("hangs-after-booking", 1)},
    "fails twice": {"credit": ("fails-before-booking", 2)},
    "books, then fails": {"credit": ("fails-after-booking", 2)},
    "books, then fails, debits": {"debit": ("fails-after-booking", 1)},
    "busy ledger": {"entry": ("fails-after-booking", 2)},
    "busy notices": {"notice": ("fails-before-booking", 1)},
}
# Of the transfers: how many meet each trouble, as the one who pays or the one who is paid. The rest meets none.
AS_SOURCE = {"closed": 8, "over the limit": 9, "answers late once, debits": 4, "books, then fails, debits": 8}
AS_TARGET = {
    "closed": 9,
    "declines every payment": 7,
    "held by the supervisor": 8,
    "books and never answers": 3,
    "always fails": 4,
    "notices never arrive": 4,
    "answers late once": 5,
    "fails twice": 8,
    "books, then fails": 8,
    "busy ledger": 6,
    "busy notices": 6,
}


def invent(seed: int = SEED) -> dict[str, Any]:
    """The whole content of the file."""
    random = Random(seed)
    numbers = _numbers(random)
    people, companies, purposes = PEOPLE.split(", "), COMPANIES.split(", "), PURPOSES.split(" | ")
    owners = iter([*random.sample(people, len(people)), *random.sample(companies, len(companies))])
    troubled = {kind: [_account(random, numbers, next(owners), kind) for _ in range(2)] for kind in TROUBLE}
    sound = [_account(random, numbers, owner) for owner in owners]
    for account in sound[::4]:  # these take back a failed payment at the second attempt only
        account["faults"] = {"credit-back": {"how": "fails-before-booking", "times": 1}}

    plan = [("source", kind) for kind, count in AS_SOURCE.items() for _ in range(count)]
    plan += [("target", kind) for kind, count in AS_TARGET.items() for _ in range(count)]
    plan += [("neither", "")] * (TRANSFERS - len(plan))
    transfers = []
    for number, (side, kind) in enumerate(_spread(random, plan), start=1):
        source, target = random.sample(sound, 2)
        amount = _amount(random)
        if kind == "over the limit":
            amount = _cents(source["limit"]) + 5_000 + _amount(random)
        elif side == "source":
            source = random.choice(troubled[kind])
        elif side == "target":
            target = random.choice(troubled[kind])
        transfers.append(
            {
                "id": f"T{number:04}",
                "source": source["number"],
                "target": target["number"],
                "amount": f"{amount // 100}.{amount % 100:02}",
                "purpose": random.choice(purposes),
            }
        )
    accounts = [account for pair in troubled.values() for account in pair] + sound
    return {"banks": BANKS, "accounts": sorted(accounts, key=lambda each: str(each["number"])), "transfers": transfers}


def _spread(random: Random, plan: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The plan in an order in which each stretch of it is like the whole, so that a part of the file will do."""
    positions: list[tuple[float, tuple[str, str]]] = []
    for kind in dict.fromkeys(plan):
        count = plan.count(kind)
        first = random.random()
        positions += [((index + first) / count, kind) for index in range(count)]
    return (kind for _, kind in sorted(positions))


def _account(random: Random, numbers: Iterator[tuple[str, str]], owner: str, trouble: str = "") -> dict[str, Any]:
    bank, number = next(numbers)
    account: dict[str, Any] = {
        "number": number,
        "owner": owner,
        "bank": bank,
        "opening": f"{random.randint(20_000, 90_000)}.{random.randint(0, 99):02}",
        "limit": f"{random.choice((2_500, 5_000))}.00",
    }
    for name, fault in TROUBLE.get(trouble, {}).items():
        if name == "closed":
            account["closed"] = True
            continue
        how, times, *reason = fault
        account["faults"] = {name: {"how": how, "times": times} | ({"reason": reason[0]} if reason else {})}
    return account


def _numbers(random: Random) -> Iterator[tuple[str, str]]:
    """Banks and account numbers that look like an IBAN of a country that does not exist, check digits and all."""
    while True:
        bank = random.choice(list(BANKS))
        digits = f"{random.randint(0, 9_999_999_999):010}"
        letters = "".join(str(int(letter, 36)) for letter in f"{bank}{digits}XQ00")
        yield bank, f"XQ{98 - int(letters) % 97:02}{bank}{digits}"


def _amount(random: Random) -> int:
    """Cents: mostly about a hundred, at times thousands."""
    return round(random.lognormvariate(9.3, 1.1)) % 240_000 + 100


def _cents(amount: str) -> int:
    return int(amount.replace(".", ""))


def text(content: dict[str, Any]) -> str:
    """As JSON with a line for each account and transfer."""
    parts = [f'"banks": {json.dumps(content["banks"])}']
    for name in ("accounts", "transfers"):
        lines = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in content[name])
        parts.append(f'"{name}": [\n  {lines}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    SOURCE.write_text(text(invent()), encoding="utf-8")
