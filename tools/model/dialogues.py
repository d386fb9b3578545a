"""Makes dialogues in which facts are told, corrected and asked for, with other talk in between.

A dialogue is a list of turns (role, text, kind); kind says what an answer is: "recall", "changed" (recall after a correction),
"unknown", "chat" or, for all others, "". Everything is drawn from the random.Random given, so a seed fixes it.
"""
import re

from relations import RELATIONS
from words import HELD, LISTS, TRAIN, invented, value

SYSTEM = ["You are Oxbow, a helpful assistant.", "You are a helpful assistant.", "You are a friendly assistant. Answer briefly.",
          "Remember what the user tells you.", "You are Oxbow. Be brief and friendly."]
NOTED = ["Okay, I will remember that.", "Thank you, I will remember.", "Good to know.", "I see.", "All right.", "Noted."]
BEFORE_ECHO = ["Okay. ", "I see. ", "Noted. ", "All right. ", ""]
UNKNOWN = "I don't know. You have not told me."
CORRECTIONS = ["No, that was wrong. {t}", "I made a mistake. {t}", "That has changed. {t}", "Sorry, I was wrong. {t}",
               "Actually, {t}", "Correction: {t}", "Things have changed. {t}"]
HELD_CORRECTIONS = ["Wait, I must correct that. {t}", "I have to correct myself. {t}", "There was a change. {t}"]
JOINTS = [" ", " ", " Also, ", " And "]


class Fact:
    """A relation, what it is about and its value."""

    def __init__(self, rng, relation, held, taken):
        self.relation, self.held, self.changed = relation, held, False
        for _ in range(50):
            self.subject = self._subject(rng)
            if (relation.name, self.subject) not in taken:
                break
        # A pet and a relative share their questions' wording, so a fact is known by what a question would name.
        taken.add((relation.name, self.subject))
        self.value = value(rng, relation.value, held)

    def _subject(self, rng):
        if not self.relation.subject:
            return ""
        if self.relation.subject == "person":
            return value(rng, "person", self.held)
        return rng.choice(LISTS[self.relation.subject].split())

    def fill(self, template):
        text = re.sub(r"\b(a) (?=[aeiou])", r"\1n ", template.format(s=self.subject, v=self.value))
        return text[0].upper() + text[1:]

    def tell(self, rng):
        return self.fill(rng.choice(self.relation.held_tell if self.held else self.relation.tell))

    def ask(self, rng):
        return self.fill(rng.choice(self.relation.held_ask if self.held else self.relation.ask))

    def say(self):
        return self.fill(self.relation.say)

    def change(self, rng):
        """Gives the fact another value."""
        old, self.changed = self.value, True
        while self.value == old:
            self.value = value(rng, self.relation.value, self.held)


def lower_first(text):
    """For a clause that follows other words; names and "I" keep their capital."""
    head = text.split(" ", 1)[0]
    return text[0].lower() + text[1:] if head in ("My", "The", "We", "You", "There", "At", "They", "Somebody", "For") else text


def join(rng, sentences):
    out = sentences[0]
    for s in sentences[1:]:
        joint = rng.choice(JOINTS)
        out += joint + (lower_first(s) if joint.strip() else s)
    return out


def new_facts(rng, n, held, taken):
    """n facts; often several of one relation, so that only the subject tells them apart."""
    out = []
    while len(out) < n:
        relation = out[-1].relation if out and rng.random() < 0.35 and out[-1].relation.subject else rng.choice(RELATIONS)
        if (relation.name, "") not in taken:
            out.append(Fact(rng, relation, held, taken))
    return out


def unknown(rng, facts, held, taken):
    """A question about something that was not told, half of the time close to what was."""
    for _ in range(100):
        near = facts and rng.random() < 0.6
        relation = rng.choice(facts).relation if near else rng.choice(RELATIONS)
        fact = Fact(rng, relation, held, set())
        if (relation.name, fact.subject) not in taken:
            return fact
    return None


def fact_dialogue(rng, chat, length, held=False):
    """Facts, questions about them and other talk, about `length` words long. chat(rng) returns one (question, answer)."""
    turns, taken, known = [], set(), []
    if rng.random() < 0.25:
        turns.append(("system", rng.choice(SYSTEM), ""))
    size = lambda: sum(len(t.split()) + 5 for _, t, _ in turns)
    n_facts = rng.randrange(1, 2 + min(5, length // 50))
    while len(known) < n_facts:
        told = new_facts(rng, min(n_facts - len(known), rng.choice((1, 1, 2, 3))), held, taken)
        text = join(rng, [f.tell(rng) for f in told])
        if rng.random() < 0.12:         # told and asked in one turn
            fact = rng.choice(told)
            turns += [("user", f"{text} {fact.ask(rng)}", ""), ("assistant", fact.say(), "recall")]
        elif rng.random() < 0.5:
            turns += [("user", text, ""), ("assistant", rng.choice(BEFORE_ECHO) + " ".join(f.say() for f in told), "")]
        else:
            turns += [("user", text, ""), ("assistant", rng.choice(NOTED), "")]
        known += told
    asked = 0
    while size() < length or asked == 0:
        r = rng.random()
        if r < 0.45:
            fact = rng.choice(known)
            turns += [("user", fact.ask(rng), ""), ("assistant", fact.say(), "changed" if fact.changed else "recall")]
            asked += 1
        elif r < 0.68:
            fact = unknown(rng, known, held, taken)
            if fact:
                turns += [("user", fact.ask(rng), ""), ("assistant", UNKNOWN, "unknown")]
                asked += 1
        elif r < 0.78:
            fact = rng.choice(known)
            fact.change(rng)
            text = rng.choice(HELD_CORRECTIONS if held else CORRECTIONS)
            told = fact.tell(rng)
            told = lower_first(told) if text.startswith(("Actually", "Correction")) else told
            turns.append(("user", text.format(t=told), ""))
            reply = rng.choice(BEFORE_ECHO) + fact.say() if rng.random() < 0.5 else rng.choice(NOTED)
            turns.append(("assistant", reply, ""))
        else:
            for _ in range(rng.choice((1, 1, 2)) if length > 100 else 1):
                question, answer = chat(rng)
                turns += [("user", question, ""), ("assistant", answer, "chat")]
    return turns


def copy_dialogue(rng):
    """Repeats words: the shortest exercise in looking back."""
    if rng.random() < 0.5:
        words = [rng.choice(TRAIN[rng.choice(list(TRAIN))]) for _ in range(rng.randrange(2, 6))]
    else:
        words = [invented(rng) for _ in range(rng.randrange(1, 4))]
    text = " ".join(words)
    ask = rng.choice(["Say: {t}", "Repeat after me: {t}", "Please repeat: {t}", "Repeat this: {t}"])
    return [("user", ask.format(t=text), ""), ("assistant", text, "")]


def render(turns, tokenizer):
    """Token ids and, for each, 0 for words that others say, 1 + index of the turn for the assistant's (with the end of its turn)."""
    ids, spoken = [], []
    for i, (role, text, _) in enumerate(turns):
        head = [tokenizer.im_start] + tokenizer.encode(role + "\n")
        body = tokenizer.encode(text) + [tokenizer.im_end]
        tail = tokenizer.encode("\n")
        ids += head + body + tail
        spoken += [0] * len(head) + [i + 1 if role == "assistant" else 0] * len(body) + [0] * len(tail)
    return ids, spoken
