"""The kinds of facts a dialogue can tell and ask for, with their wordings.

{s} is what the fact is about, {v} its value. `tell` are the user's words, `say` is the assistant's way to say it, `ask` are
questions. The wordings in `held_tell` and `held_ask` are never used in training.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    name: str
    subject: str        # list in words.py, or "" for facts that have no subject
    value: str          # list in words.py, "number" or "hour"
    say: str
    tell: tuple
    ask: tuple
    held_tell: tuple
    held_ask: tuple


def relation(name, subject, value, say, tell, ask, held_tell, held_ask):
    split = lambda text: tuple(line.strip() for line in text.strip().splitlines())
    return Relation(name, subject, value, say, split(tell), split(ask), split(held_tell), split(held_ask))


RELATIONS = [
    relation("own name", "", "person", "Your name is {v}.", """
        My name is {v}.
        Hello, my name is {v}.
        I am called {v}.
        Hi, I am {v}.
        Please call me {v}.""", """
        What is my name?
        Do you know my name?
        Do you remember my name?
        Can you tell me my name?
        Tell me my name.
        What am I called?""", """
        By the way, my name is {v}.
        People call me {v}.""", """
        Please tell me my name.
        What was my name again?"""),
    relation("pet name", "animal", "pet", "Your {s} is called {v}.", """
        My {s} is called {v}.
        I have a {s} called {v}.
        I have a {s} named {v}.
        The name of my {s} is {v}.
        We gave our {s} the name {v}.
        {v} is the name of my {s}.""", """
        What is my {s} called?
        What is the name of my {s}?
        What is my {s}'s name?
        Do you remember the name of my {s}?
        Can you tell me what my {s} is called?
        Which name does my {s} have?""", """
        At home there is my {s}, named {v}.
        My {s} goes by the name {v}.""", """
        Please tell me the name of my {s}.
        What did I call my {s}?"""),
    relation("relative name", "relative", "person", "Your {s} is called {v}.", """
        My {s} is called {v}.
        My {s}'s name is {v}.
        I have a {s} named {v}.
        The name of my {s} is {v}.""", """
        What is my {s} called?
        What is the name of my {s}?
        What is my {s}'s name?
        Who is my {s}?
        Do you know the name of my {s}?""", """
        There is my {s}, whose name is {v}.
        I must tell you that my {s} is called {v}.""", """
        Can you tell me the name of my {s}?
        Tell me what my {s} is called."""),
    relation("favourite colour", "", "colour", "Your favourite colour is {v}.", """
        My favourite colour is {v}.
        The colour I like best is {v}.
        I like the colour {v} most of all.""", """
        What is my favourite colour?
        Which colour do I like best?
        Do you remember my favourite colour?
        Tell me my favourite colour.""", """
        Of all colours, my favourite is {v}.
        By the way, my favourite colour is {v}.""", """
        Can you tell me my favourite colour?
        Which colour is my favourite?"""),
    relation("favourite food", "", "food", "Your favourite food is {v}.", """
        My favourite food is {v}.
        The food I like best is {v}.
        I like to eat {v} most of all.""", """
        What is my favourite food?
        Which food do I like best?
        What do I like to eat most of all?
        Do you remember my favourite food?""", """
        By the way, my favourite food is {v}.
        The best food for me is {v}.""", """
        Can you tell me my favourite food?
        Which food is my favourite?"""),
    relation("favourite game", "", "game", "Your favourite sport is {v}.", """
        My favourite sport is {v}.
        The sport I like best is {v}.""", """
        What is my favourite sport?
        Which sport do I like best?
        Do you know my favourite sport?""", """
        By the way, my favourite sport is {v}.""", """
        Can you tell me my favourite sport?"""),
    relation("favourite flower", "", "flower", "Your favourite flower is the {v}.", """
        My favourite flower is the {v}.
        The flower I like best is the {v}.""", """
        What is my favourite flower?
        Which flower do I like best?
        Do you know my favourite flower?""", """
        By the way, my favourite flower is the {v}.""", """
        Can you tell me my favourite flower?"""),
    relation("own home", "", "place", "You live in {v}.", """
        I live in {v}.
        My home is in {v}.
        I have a flat in {v}.
        I live in the city of {v}.""", """
        Where do I live?
        In which city do I live?
        Do you know where I live?
        Where is my home?""", """
        My family and I live in {v}.
        My house is in {v}.""", """
        Can you tell me where I live?
        Which city do I live in?"""),
    relation("own job", "", "job", "You work as a {v}.", """
        I work as a {v}.
        My job is to be a {v}.
        I am a {v} by trade.
        I earn my money as a {v}.""", """
        What is my job?
        What do I work as?
        What do I do for a living?
        Do you remember my job?""", """
        For a living I work as a {v}.""", """
        Can you tell me my job?"""),
    relation("own birthday", "", "month", "Your birthday is in {v}.", """
        My birthday is in {v}.
        I was born in {v}.""", """
        When is my birthday?
        In which month is my birthday?
        Do you remember when my birthday is?""", """
        I have my birthday in {v}.""", """
        Can you tell me when my birthday is?"""),
    relation("code", "code", "number", "Your {s} number is {v}.", """
        My {s} number is {v}.
        The number of my {s} is {v}.
        I have {s} number {v}.
        I was given {s} number {v}.""", """
        What is my {s} number?
        What is the number of my {s}?
        Do you remember my {s} number?
        Which {s} number do I have?
        Tell me my {s} number.""", """
        Please note that my {s} number is {v}.
        They gave me {s} number {v}.""", """
        Can you tell me my {s} number?
        What was the number of my {s}?"""),
    relation("home", "person", "place", "{s} lives in {v}.", """
        {s} lives in {v}.
        My friend {s} lives in {v}.
        The home of {s} is in {v}.
        {s} has a house in {v}.""", """
        Where does {s} live?
        In which city does {s} live?
        Do you know where {s} lives?
        Where is the home of {s}?""", """
        I heard that {s} lives in {v}.
        {s} has a flat in {v}.""", """
        Can you tell me where {s} lives?
        Which city does {s} live in?"""),
    relation("job", "person", "job", "{s} works as a {v}.", """
        {s} works as a {v}.
        My friend {s} works as a {v}.
        {s} is a {v} by trade.
        The job of {s} is {v}.""", """
        What does {s} work as?
        What is the job of {s}?
        What does {s} do for a living?
        Do you know what {s} works as?""", """
        I heard that {s} works as a {v}.
        For a living {s} works as a {v}.""", """
        Can you tell me what {s} works as?
        Tell me the job of {s}."""),
    relation("taste", "person", "food", "{s} likes {v}.", """
        {s} likes {v}.
        {s} likes to eat {v}.
        The favourite food of {s} is {v}.""", """
        What does {s} like?
        What does {s} like to eat?
        What is the favourite food of {s}?""", """
        I heard that {s} likes {v}.""", """
        Can you tell me what {s} likes to eat?"""),
    relation("owner", "thing", "person", "The {s} belongs to {v}.", """
        The {s} belongs to {v}.
        {v} owns the {s}.
        The owner of the {s} is {v}.
        {v} has the {s}.""", """
        Who owns the {s}?
        Whose is the {s}?
        Who does the {s} belong to?
        Who has the {s}?
        Who is the owner of the {s}?""", """
        The {s} is owned by {v}.
        I think that the {s} belongs to {v}.""", """
        Can you tell me who owns the {s}?
        Which person owns the {s}?"""),
    relation("paint", "thing", "colour", "The {s} is {v}.", """
        The {s} is {v}.
        The colour of the {s} is {v}.
        The {s} was painted {v}.""", """
        What colour is the {s}?
        What is the colour of the {s}?
        Which colour does the {s} have?""", """
        I see that the {s} is {v}.""", """
        Can you tell me the colour of the {s}?"""),
    relation("spot", "thing", "spot", "The {s} is in the {v}.", """
        The {s} is in the {v}.
        I put the {s} in the {v}.
        I left the {s} in the {v}.
        You can find the {s} in the {v}.""", """
        Where is the {s}?
        Where did I put the {s}?
        Where can I find the {s}?
        Do you know where the {s} is?""", """
        Somebody put the {s} in the {v}.
        I have left the {s} in the {v}.""", """
        Can you tell me where the {s} is?
        Tell me where to find the {s}."""),
    relation("day", "event", "day", "The {s} is on {v}.", """
        The {s} is on {v}.
        The {s} will be on {v}.
        There is a {s} on {v}.
        We have a {s} on {v}.""", """
        When is the {s}?
        On which day is the {s}?
        What day is the {s}?
        Do you remember when the {s} is?""", """
        They told me that the {s} is on {v}.
        Please note the {s} on {v}.""", """
        Can you tell me when the {s} is?
        Which day is the {s}?"""),
    relation("hour", "event", "hour", "The {s} starts at {v}.", """
        The {s} starts at {v}.
        The {s} begins at {v}.
        We start the {s} at {v}.""", """
        What time does the {s} start?
        At what time does the {s} begin?
        At what hour is the {s}?""", """
        They told me that the {s} starts at {v}.""", """
        Can you tell me what time the {s} starts?"""),
]
