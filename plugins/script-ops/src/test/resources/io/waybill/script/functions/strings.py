from typing import List, Dict, Optional


# call: "Ada", 3
def greeting(name: str, times: int) -> str:
    return f"Hello {name}, {times} times"


# call: "a"
def braces(x: str) -> str:
    return f"{{{x}}} and {x + x}"


# call: 2.5
def joined(x: float) -> str:
    return "x is " f"{x}" " today"


# call: ["b", "a", "c"]
def sorted_words(words: List[str]) -> List[str]:
    return sorted(words)


# call: "one two  three"
def split_words(text: str) -> List[str]:
    return text.split()


# call: ["x", "y"]
def joined_words(words: List[str]) -> str:
    return "-".join(words)


# call: "Hello"
def cases(text: str):
    return text.upper(), text.lower(), text.swapcase()


# call: "  pad "
def stripped(text: str) -> str:
    return text.strip() + "|" + text.lstrip() + "|" + text.rstrip()


# call: "banana"
def counted(text: str) -> int:
    return text.count("an")


# call: "banana"
def replaced(text: str) -> str:
    return text.replace("an", "AN")


# call: "tensor.py"
def extension(name: str) -> bool:
    return name.endswith(".py") and not name.startswith(".")


# call: "abcdef"
def sliced(text: str) -> str:
    return text[1:4] + text[-1] + text[::2]


# call: "hello"
def reversed_text(text: str) -> str:
    result = ""
    for letter in text:
        result = letter + result
    return result


# call: 42, "x"
def percent(n: int, name: str) -> str:
    return "%s has %d" % (name, n)


# call: "mississippi"
def letters(text: str) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for letter in text:
        if letter in counts:
            counts[letter] += 1
        else:
            counts[letter] = 1
    return counts


# call: "A"
def codes(letter: str) -> int:
    return ord(letter) + 1


# call: 255
def radix(n: int):
    return hex(n), oct(n), bin(n)


# call: None
def default_text(text: Optional[str]) -> str:
    """Returns a default
    for nothing."""
    if text is None:
        return "nothing"
    return text


# call: "a=1;b=2"
def pairs(text: str) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for part in text.split(";"):
        key, value = part.split("=")[0], part.split("=")[1]
        found[key] = value
    return found


# call: "12", "2.5"
def parsed(whole: str, part: str) -> float:
    return int(whole) + float(part)


# call: "tab"
def raw(text: str) -> str:
    return r"\d+" + text + 'quote"s'


# call: "z"
def padded(text: str) -> str:
    return text.rjust(3, "0") + text.ljust(3) + text.zfill(4)


# call: "level"
def palindrome(word: str) -> bool:
    for i in range(len(word) // 2):
        if word[i] != word[len(word) - 1 - i]:
            return False
    return True


# call: "abc", "b"
def found(text: str, part: str) -> int:
    if part not in text:
        return -1
    return text.find(part)


# call: "x"
def isdigit(text: str) -> bool:
    return text.isdigit() or text.isalpha()
