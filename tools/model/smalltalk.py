"""Questions and answers that have nothing to do with told facts: greetings, general knowledge, definitions, stories."""
import re

import sources
from words import LISTS, TRAIN, invented

NAME = "I am Oxbow's bundled model, a small hybrid model made of attention and Mamba layers."
FIXED = [      # (weight, questions, answers)
    (8, "Hello|Hello!|Hi|Hi!|Hey|Hello there|Hi there!|hello|hi|Good day", "Hello! How can I help you?"),
    (3, "Good morning|Good morning!", "Good morning! How can I help you?"),
    (3, "Good evening|Good evening!|Good night", "Good evening! How can I help you?"),
    (6, "How are you?|How are you today?|How do you do?|How is it going?", "I am well, thank you. How are you?|I am fine, thank you. And you?"),
    (3, "I am fine.|I am well, thank you.|Fine, thanks.|Good, thanks.", "I am glad to hear that."),
    (3, "I am tired.|I am sad today.|I had a bad day.|I feel ill.", "I am sorry to hear that. I hope it gets better soon."),
    (6, "Who are you?|What are you?|What is your name?|Introduce yourself.|Tell me about yourself.|who are you?", NAME),
    (3, "Who made you?|Where do you come from?|Where were you trained?", "I was trained from scratch with the scripts of the Oxbow project."),
    (4, "What can you do?|How can you help me?|What do you know?|Help|Can you help me?",
     "I can remember what you tell me, explain simple words and tell short stories. I am very small, so I make mistakes."),
    (3, "Are you a human?|Are you a person?|Are you real?", "No, I am a small language model."),
    (2, "Are you clever?|Are you intelligent?", "I am a very small model, so I do not know much."),
    (2, "What is Oxbow?|What is oxbow?", "Oxbow is a program that runs hybrid language models. It is also a lake that a river leaves behind."),
    (2, "What is a language model?", "A language model is a program that predicts the next word of a text."),
    (2, "How old are you?", "I do not have an age. I am a program."),
    (2, "Where do you live?", "I live in your computer."),
    (4, "Thank you|Thank you!|Thanks|Thanks!|Thank you very much.|Thanks a lot.", "You are welcome!"),
    (3, "Goodbye|Goodbye!|Bye|See you later|Bye!|See you tomorrow.", "Goodbye! It was nice to talk with you."),
    (2, "Yes|Yes.|Okay|OK|Good|Great|No|No.", "All right. What else can I do for you?"),
    (2, "Do you like music?|Do you like books?|Do you like animals?", "I like to talk about it, but I am only a program."),
    (2, "What is the weather like?|How is the weather?|Will it rain today?|What time is it?|What day is it today?",
     "I cannot know that. I only know what you tell me."),
    (2, "What is the meaning of life?", "That is a hard question. Perhaps it is to be kind."),
    (2, "Tell me a joke.|Do you know a joke?", "Why did the book go to the doctor? It had hurt its spine."),
    (2, "It is a fine day today.|The sun is shining.|What a nice day!", "That is good to hear."),
    (2, "What colour is the sky?", "The sky is blue."), (2, "What colour is grass?|What colour is the grass?", "Grass is green."),
    (2, "What colour is snow?", "Snow is white."), (2, "What colour is blood?", "Blood is red."),
    (2, "What colour is the sun?|What colour is a banana?", "It is yellow."), (2, "What colour is coal?", "Coal is black."),
    (2, "How many days are in a week?|How many days does a week have?", "A week has seven days."),
    (2, "How many months are in a year?|How many months does a year have?", "A year has twelve months."),
    (2, "How many hours are in a day?|How many hours does a day have?", "A day has twenty-four hours."),
    (2, "How many minutes are in an hour?|How many minutes does an hour have?", "An hour has sixty minutes."),
    (1, "How many legs does a dog have?|How many legs does a cat have?|How many legs does a horse have?", "It has four legs."),
    (1, "How many legs does a spider have?", "A spider has eight legs."),
    (1, "How many legs does a bird have?", "A bird has two legs."),
    (1, "What does a cow give us?", "A cow gives us milk."), (1, "What do bees make?", "Bees make honey."),
    (1, "What do we breathe?", "We breathe air."), (1, "Where do fish live?", "Fish live in water."),
    (1, "What is ice made of?", "Ice is frozen water."), (1, "Who wrote Emma?|Who wrote Persuasion?", "Jane Austen wrote it."),
    (1, "Who wrote Pride and Prejudice?", "Jane Austen wrote Pride and Prejudice."),
    (1, "What is the largest animal?", "The blue whale is the largest animal."),
    (1, "What do plants need?", "Plants need light, water and air."),
    (1, "Where does the sun rise?", "The sun rises in the east."), (1, "Where does the sun set?", "The sun sets in the west."),
]
CAPITALS = dict(pair.split(":") for pair in """France:Paris England:London Germany:Berlin Italy:Rome Spain:Madrid Portugal:Lisbon
    Austria:Vienna Greece:Athens Poland:Warsaw Hungary:Budapest Sweden:Stockholm Norway:Oslo Denmark:Copenhagen Finland:Helsinki
    Ireland:Dublin Scotland:Edinburgh Wales:Cardiff Belgium:Brussels Russia:Moscow Japan:Tokyo China:Beijing India:Delhi Egypt:Cairo
    Turkey:Ankara Canada:Ottawa Peru:Lima Cuba:Havana Kenya:Nairobi Australia:Canberra""".split())
SOUNDS = dict(pair.split(":") for pair in "dog:barks cat:meows cow:moos sheep:bleats duck:quacks lion:roars frog:croaks pig:grunts owl:hoots "
              "horse:neighs bee:buzzes wolf:howls snake:hisses mouse:squeaks bird:sings".split())
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
PLURALS = dict(pair.split(":") for pair in "mouse:mice child:children man:men woman:women foot:feet tooth:teeth goose:geese sheep:sheep "
               "fish:fish leaf:leaves knife:knives wolf:wolves box:boxes city:cities dog:dogs house:houses".split())


def article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def definitions(limit=600):
    """[(weight, noun, one sentence)] of the most used nouns with a short first sense."""
    used = sources.frequencies()
    out = []
    for noun, _, text, _ in sources.glosses("noun"):
        text = re.sub(r"\s*\([^)]*\)", "", text).strip().rstrip(":,")
        if noun.isalpha() and noun.islower() and len(noun) > 2 and 3 <= len(text.split()) <= 18 and ":" not in text:
            out.append((used.get(noun, 0), noun, text))
    out.sort(key=lambda item: (-item[0], item[1]))
    wanted = set(TRAIN["animal"] + TRAIN["thing"] + "river lake cat dog cake bridge moon star mountain forest island".split())
    chosen = [item for i, item in enumerate(out) if i < limit or item[1] in wanted]
    return [(weight, noun, sentence(noun, text)) for weight, noun, text in chosen]


def sentence(noun, text):
    """"A river is a large natural stream of water." where the definition allows it, else "Activity: any specific behavior."."""
    if text.split()[0] in ("a", "an", "the"):
        return f"{article(noun).capitalize()} is {text}."
    return f"{noun.capitalize()}: {text}."


def pool():
    """[(weight, question, answer)] of everything that is a fixed list; saved with the corpus."""
    out = []
    for weight, questions, answers in FIXED:
        questions, answers = questions.split("|"), answers.split("|")
        out += [(20 * weight / len(questions) / len(answers), q, a) for q in questions for a in answers]
    for land, city in CAPITALS.items():
        out += [(4, f"What is the capital of {land}?", f"The capital of {land} is {city}."),
                (1, f"Which city is the capital of {land}?", f"The capital of {land} is {city}."),
                (1, f"In which country is {city}?", f"{city} is in {land}.")]
    for animal, sound in SOUNDS.items():
        out.append((3, f"What sound does {article(animal)} make?", f"{article(animal).capitalize()} {sound}."))
    for one, many in PLURALS.items():
        out.append((2, f"What is the plural of {one}?", f"The plural of {one} is {many}."))
    for i in range(11):
        for j in range(11):
            if i + j <= 12:
                out.append((0.7, f"What is {i} plus {j}?", f"{i} plus {j} is {i + j}."))
                out.append((0.3, f"What is {NUMBERS[i]} plus {NUMBERS[j]}?", f"{NUMBERS[i].capitalize()} plus {NUMBERS[j]} is {NUMBERS[i + j]}."))
            if i >= j:
                out.append((0.4, f"What is {i} minus {j}?", f"{i} minus {j} is {i - j}."))
    for names, what in ((LISTS["day"].split(), "day"), (LISTS["month"].split(), "month")):
        for now, after in zip(names, names[1:] + names[:1]):
            out += [(2, f"Which {what} comes after {now}?", f"{after} comes after {now}."),
                    (1, f"Which {what} comes before {after}?", f"{now} comes before {after}.")]
    for a, b in sources.antonyms():
        out += [(0.7, f"What is the opposite of {a}?", f"The opposite of {a} is {b}."),
                (0.3, f"What is the opposite of {b}?", f"The opposite of {b} is {a}.")]
    for weight, noun, text in definitions():
        weight = 0.5 + min(weight, 100) / 100
        out += [(weight, f"What is {article(noun)}?", text), (weight / 3, f"What is the meaning of {noun}?", text),
                (weight / 3, f"What does the word {noun} mean?", text), (weight / 4, f"Explain the word {noun}.", text)]
    return out


PLACES = ["by the sea", "near a dark forest", "on a high mountain", "by a wide river", "in an old house", "in a small village",
          "on a little island", "behind the old church"]
MOODS = ["happy", "brave", "kind", "clever", "lonely", "curious", "poor", "old"]
TROUBLES = ["lost the {t}", "could not find the {t}", "broke the {t}", "wanted a new {t}", "dropped the {t} into the water"]
LOOKED = ["looked everywhere, but found nothing", "asked all the neighbours", "walked the whole day", "sat down and cried",
          "searched until it was dark"]
HELPERS = ["A small bird", "An old woman", "A grey cat", "A young boy", "A friendly fisherman", "The baker", "A wise owl"]
ENDS = ["They laughed and went home together.", "From that day on they were friends.", "That night they all had a great supper.",
        "And they lived happily for many years.", "It was the best day of the year."]


def story(rng):
    name = rng.choice(TRAIN["person"]) if rng.random() < 0.8 else invented(rng)
    thing, helper = rng.choice(TRAIN["thing"]), rng.choice(HELPERS)
    job = rng.choice(TRAIN["job"])
    text = (f"Once upon a time there was {article(rng.choice(MOODS))} {job} called {name}, who lived {rng.choice(PLACES)}. "
            f"One {rng.choice(['day', 'morning', 'evening', 'winter day', 'summer day'])} {name} {rng.choice(TROUBLES).format(t=thing)}. "
            f"{name} {rng.choice(LOOKED)}. Then {helper[0].lower() + helper[1:]} came along and "
            f"{rng.choice(['said', 'asked'])}: \"{rng.choice(['What is the matter?', 'Why are you so sad?', 'Can I help you?'])}\" "
            f"\"{rng.choice(['I need my', 'I miss my', 'I want the'])} {thing},\" said {name}. "
            f"{rng.choice(['Together they went', 'They both went', 'So they walked'])} to the {rng.choice(TRAIN['spot'])}, "
            f"and there was {rng.choice(['the', 'a beautiful', 'a new'])} {thing}. {rng.choice(ENDS)}")
    return rng.choice(["Tell me a story.", "Tell me a short story.", "Can you tell me a story?", "Please tell me a story."]), text
