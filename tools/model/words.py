"""Word lists that facts are made of. One word in eight of every list is held out: training never sees it as a value."""
import functools
import zlib

import sources

LISTS = {
    "person": """Adam Agnes Alan Albert Alice Amanda Amy Andrew Angela Anita Anna Anton Arthur Astrid Barbara Beatrice Benjamin Bernard
        Beth Bianca Boris Brian Bruno Camilla Carl Carlos Carmen Caroline Cecilia Charles Chloe Christina Clara Claire Colin Conrad
        Daisy Daniel Daphne David Dennis Diana Dora Edgar Edith Edmund Eduardo Edward Elena Eleanor Elias Eliza Ella Ellen Emil Emily
        Emma Eric Ernest Esther Ethan Eva Evelyn Felix Fiona Florence Frances Frank Frederick Gabriel George Gerald Gilbert Gloria
        Grace Greta Gustav Hannah Harold Harry Hazel Hector Helen Henry Herbert Hilda Hugo Ian Ida Igor Ingrid Irene Iris Isaac Isabel
        Ivan Ivy Jack Jacob James Jane Jasmine Jason Jean Jennifer Jessica Joan John Jonas Joseph Judith Julia Julian Karen Karl Kate
        Kevin Kim Lars Laura Leah Leo Leonard Lewis Lily Linda Lionel Lisa Louis Louise Lucas Lucy Luis Lydia Mabel Magnus Marco Margaret
        Maria Marion Mark Martha Martin Mary Matilda Matthew Maud Max Maya Megan Mia Michael Miguel Mildred Miriam Molly Monica Nadia
        Nancy Naomi Nathan Nicholas Nina Noah Nora Norman Oliver Olga Olivia Oscar Otto Owen Pablo Pamela Patrick Paul Paula Pedro
        Penelope Peter Philip Phoebe Quentin Rachel Ralph Raymond Rebecca Richard Rita Robert Robin Roger Roland Rosa Rose Ruby Rudolf
        Rupert Ruth Sally Samuel Sandra Sarah Sean Sebastian Silvia Simon Sofia Sophie Stella Stephen Susan Sven Sylvia Tamara Teresa
        Theodore Thomas Tim Tina Toby Tom Ursula Valerie Vera Victor Victoria Vincent Viola Violet Walter Wanda Wendy William Winston
        Xavier Yvonne Zoe""",
    "pet": """Bandit Barney Bella Biscuit Blackie Bobby Bramble Bubbles Buddy Buster Button Captain Charlie Chester Cleo Clover Coco
        Comet Cookie Copper Dash Dexter Domino Duke Dusty Echo Fang Felix Fluffy Ginger Goldie Gypsy Happy Hazel Honey Hunter Jasper
        Jet Jumbo Kiki Lady Lola Loki Lucky Luna Maggie Maple Max Midnight Milo Misty Mittens Monty Muffin Murphy Nala Nero Noodle
        Nugget Olive Oreo Otis Patch Peanut Pebbles Pepper Pickle Pippin Pluto Poppy Prince Pudding Pumpkin Queenie Rascal Rex Rocky
        Rolo Rover Rusty Sage Salty Sammy Scout Shadow Simba Smoky Snowy Socks Sparky Spot Storm Sugar Sunny Tango Teddy Tiger Toffee
        Treacle Truffle Twinkle Waffle Whisky Willow Winnie Zeus Ziggy""",
    "place": """Amsterdam Athens Baltimore Barcelona Basel Bath Beirut Belfast Berlin Bergen Bologna Bombay Boston Bremen Brighton
        Bristol Brussels Budapest Cairo Calcutta Cambridge Canterbury Cardiff Chicago Cologne Copenhagen Cork Dallas Delhi Denver
        Detroit Dover Dresden Dublin Durham Edinburgh Exeter Florence Frankfurt Geneva Genoa Glasgow Granada Hamburg Hanover Havana
        Helsinki Houston Istanbul Jerusalem Kiev Kyoto Leeds Leipzig Lima Lisbon Liverpool London Lyon Madrid Malta Manchester
        Manila Marseille Melbourne Memphis Miami Milan Montreal Moscow Munich Nairobi Naples Nottingham Norwich Oslo Oxford Palermo
        Paris Perth Philadelphia Plymouth Porto Prague Quebec Quito Reading Riga Rome Rotterdam Salzburg Santiago Seattle Seville
        Shanghai Singapore Sofia Stockholm Sydney Tallinn Tokyo Toronto Toulouse Trieste Tunis Turin Valencia Venice Verona Vienna
        Vilnius Warsaw Winchester York Zagreb Zurich""",
    "colour": """red blue green yellow orange purple pink brown black white grey silver gold violet turquoise crimson scarlet beige
        maroon navy lilac ivory""",
    "food": """bread cheese soup rice pasta pizza salad cake apples oranges bananas cherries grapes pears plums peaches melons lemons
        honey chocolate fish chicken beef lamb bacon eggs potatoes carrots onions tomatoes beans peas mushrooms spinach cabbage nuts
        pancakes waffles sausages noodles porridge butter cream pie biscuits strawberries mangoes pudding toast olives""",
    "animal": """dog cat horse rabbit parrot hamster goat pony turtle donkey duck goose snake lizard mouse pig sheep cow owl ferret
        canary pigeon frog goldfish""",
    "job": """teacher doctor farmer baker painter singer writer sailor soldier lawyer nurse pilot carpenter gardener tailor butcher
        driver cook plumber dentist banker barber engineer fisherman guard judge librarian mechanic miner musician photographer
        priest printer scientist shepherd surgeon waiter weaver welder actor builder clerk""",
    "thing": """umbrella bicycle boat car house hat coat guitar piano violin lamp clock watch ring necklace camera book map key box
        basket bottle cup knife ladder hammer tent sled kite drum flute mirror chair table sofa carpet vase bell wallet purse suitcase
        backpack notebook pencil letter ticket telescope lantern blanket pillow scarf jacket candle""",
    "spot": """kitchen garden garage attic cellar bedroom bathroom hallway drawer cupboard shed office library barn church school
        station market park harbour hotel tower museum closet pantry balcony porch workshop stable hospital theatre bakery""",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "month": "January February March April May June July August September October November December",
    "game": """chess football tennis cricket golf hockey poker darts bowling rugby polo croquet badminton baseball basketball
        volleyball swimming sailing skating fishing""",
    "flower": "rose tulip daisy lily orchid poppy violet sunflower daffodil iris lavender jasmine carnation marigold",
    "relative": """brother sister mother father cousin uncle aunt grandmother grandfather neighbour teacher boss friend doctor
        dentist landlord colleague nephew niece son daughter partner""",
    "code": """locker room house flat seat platform phone account order ticket bus flight table door gate garage customer
        member page box""",
    "event": """meeting party lesson concert wedding dinner picnic exam match race game trip lecture show visit interview
        appointment rehearsal festival auction""",
}
KEYS = ("animal", "thing", "relative", "code", "event")      # also used as subjects; these are not held out
SMALL = ("day", "month")                                     # too few to hold any out


def held_out(word):
    return zlib.crc32(word.encode()) % 8 == 0


TRAIN = {k: [w for w in v.split() if k in KEYS + SMALL or not held_out(w)] for k, v in LISTS.items()}
HELD = {k: [w for w in v.split() if k in SMALL or held_out(w)] for k, v in LISTS.items()}

ONSETS = "b br c ch d dr f fl g gr h j k kl l m n p pr r s sh sk st t th tr v w y z".split()
VOWELS = "a e i o u a e i o ai ea ee ou".split()
CODAS = ["", "", "", "n", "r", "l", "s", "m", "k", "th", "nd", "x", "ck"]


def invented(rng):
    """A name that no list holds, of two or three syllables."""
    while True:
        parts = [rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(rng.choice((2, 2, 3)))]
        word = ("".join(parts) + rng.choice(CODAS)).capitalize()
        if len(word) < 10:
            return word


@functools.lru_cache(None)
def open_words():
    """Common nouns that are not held out; as values of any kind they make training learn to copy instead of to choose from a list."""
    return sorted(w for w, n in sources.frequencies().items() if n > 1 and w.isalpha() and 3 <= len(w) <= 9 and not held_out(w))


def value(rng, kind, held):
    """A random value of a kind; held chooses from the held-out part."""
    if kind == "number":
        while True:
            n = str(rng.randrange(2, 10 ** rng.choice((2, 3, 3, 4))))
            if held_out(n) == held:
                return n
    if kind == "hour":
        return f"{rng.randrange(1, 13)} o'clock"
    if kind in ("person", "pet", "place") and rng.random() < (0.25 if held else 0.4):
        while True:
            word = invented(rng)
            if held_out(word) == held:
                return word
    if kind in ("colour", "food", "job", "spot", "game", "flower") and not held and rng.random() < 0.4:
        return rng.choice(open_words())
    return rng.choice(held and HELD[kind] or TRAIN[kind])
