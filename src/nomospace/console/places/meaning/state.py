"""What one window looks at and plays with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from nomospace.api.meaning import PlayedView

EXAMPLE: Final = """\
# Cars, what insures and finances them, and how long their shipping took.
name: cars
classes:
  Vehicle: {properties: {wheels: integer}}
  Insurable: {}
  Car:
    synonyms: [Automobile]
    parents: [Vehicle, Insurable]
    properties: {price: Price, maker: string}
  SportsCar: {parents: Car}
  Price: {properties: {amount: number, currency: string}}
  Contract: {synonyms: [Agreement]}
  CarInsurance: {parents: Contract, properties: {premium: number}}
  CarFinance: {parents: Contract, properties: {rate: number}}

  Departure: {properties: {shippingID: string, timeStamp: number}}
  Arrival: {properties: {shippingID: string, timeStamp: number}}
  ShippingDuration:
    properties: {shippingID: string, duration: number}
    depends:
      duration:
        function: minus(Arrival.timeStamp, Departure.timeStamp)
        when: ShippingDuration.shippingID = Arrival.shippingID = Departure.shippingID
"""
_CAR: Final = {"class": "SportsCar", "id": "A", "properties": {"price": {"amount": 4500}}}
TUPLES: Final = "".join(
    json.dumps({"id": f"t{number}", "fields": fields}) + "\n"
    for number, fields in enumerate(
        (
            [_CAR, {"class": "CarInsurance", "id": "B"}],
            [_CAR, {"class": "CarFinance", "id": "C", "properties": {"rate": 3}}],
            [{"class": "Automobile", "id": "D"}, {"class": "CarFinance", "id": "E"}],
            [{"class": "Departure", "properties": {"shippingID": "s1", "timeStamp": 10}}],
            [{"class": "Arrival", "properties": {"shippingID": "s1", "timeStamp": 25}}],
        ),
        1,
    )
)
TEMPLATES: Final = {
    "(Car where price.amount < 5000, CarInsurance = B, CarFinance)": "joined by a shared car",
    "(Car, CarFinance)": "a synonym and a subclass",
    "(ShippingDuration where duration > 10)": "a computed property",
}


@dataclass
class MeaningState:
    """The ontology that is shown, what is written, and the last answers."""

    source: str = "example"
    """`example`, `own`, or the hash of an ontology that a space speaks."""
    text: str = EXAMPLE
    format: str = "yaml"
    tuples: str = TUPLES
    template: str = next(iter(TEMPLATES))
    correlate: str = "auto"
    space: str = ""
    """The space whose tuples are asked; empty are those that were typed."""
    played: PlayedView | None = None
