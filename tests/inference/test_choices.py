"""Multiple choice by likelihood."""

import json
import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError, PlanError, ReadError  # noqa: E402
from dataprep.inference.chat_model import ChatModel  # noqa: E402
from dataprep.inference.choices import Answers, Question, answer_choices, read_questions  # noqa: E402
from dataprep.tokens.vocabulary.tokenizer import Tokenizer  # noqa: E402
from dataprep.train import GPT, ModelConfig  # noqa: E402
from dataprep.train.model.rules import Rule  # noqa: E402
from fixtures.voices import EXCHANGES  # noqa: E402

TOK = Tokenizer.of_bytes()
ASKED = [
    Question("2 and 2 is", ("four", "five", "a fish"), 0),
    Question("", ("alone", "b"), 1),
    Question("the cat says ", (" miaow", "نعم"), 1),
    Question("x" * 60, ("long", "longer than that"), 0),
]


@pytest.fixture
def voice():
    """An untrained model of bytes, whose scores differ."""
    torch.manual_seed(0)
    model = GPT(ModelConfig(n_layers=2, n_heads=2, d_model=16, context=40), TOK.vocab_size).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return ChatModel(model, TOK, None, {}, frozenset({TOK.eot}), {})


@torch.no_grad()
def one_by_one(voice, prompt, choice, cut=0):
    """The sum of log-probabilities of a choice's bytes, from a pass for each of them."""
    ids = [TOK.eot, *prompt.encode()][cut:]
    total = 0.0
    for byte in choice.encode():
        total += float(voice.model(torch.tensor([ids]))[0, -1].log_softmax(-1)[byte])
        ids.append(byte)
    return total


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_it_is_the_sum_of_log_probabilities(voice, batch):
    """Each choice after its prompt, whatever is in the batch with it; a long prompt loses its beginning."""
    found = answer_choices(voice, ASKED, batch=batch).log_likelihoods
    expected = [
        [one_by_one(voice, "2 and 2 is", f" {c}") for c in ASKED[0].choices],
        [one_by_one(voice, "", c) for c in ASKED[1].choices],
        [one_by_one(voice, "the cat says ", c) for c in ASKED[2].choices],
        [one_by_one(voice, "x" * 60, f" {c}", cut=61 + 17 - 41) for c in ASKED[3].choices],
    ]
    assert [each for q in found for each in q] == pytest.approx([each for q in expected for each in q], rel=1e-4)


def test_likelihoods_that_are_no_numbers_are_an_error(voice):
    """The model's weights are damaged; no choice is called the most probable one."""
    torch.nn.init.constant_(voice.model.embedding.weight, float("nan"))
    with pytest.raises(DataprepError, match="the model's scores are not finite: its weights are damaged"):
        answer_choices(voice, ASKED)


def test_a_prefix_sees_itself(voice):
    """A model that was trained with prefixes reads the whole prompt before each of its tokens."""
    plain = answer_choices(voice, ASKED).log_likelihoods
    voice.model.rule = Rule(prefix=True)
    prefixed = answer_choices(voice, ASKED).log_likelihoods
    assert prefixed[0] != pytest.approx(plain[0], rel=1e-3)
    assert prefixed[0] == pytest.approx(answer_choices(voice, ASKED[:1]).log_likelihoods[0], rel=1e-4)


def test_a_token_of_prompt_and_choice(voice):
    """Choices are scored from the first token that one of their texts changes, the same for all of them."""
    merged = replace(voice, tok=_Merged(TOK))
    [found] = answer_choices(merged, [Question("one t", ("wo", "wice"), 0)], join="").log_likelihoods
    assert found[0] == pytest.approx(one_by_one(voice, "one ", "two"), rel=1e-4)
    assert found[1] == pytest.approx(one_by_one(voice, "one ", "twice"), rel=1e-4)


class _Merged:
    """Bytes, but a text that ends with t has another id there, as if t and what follows were one token."""

    def __init__(self, tok):
        self.tok, self.eot = tok, tok.eot

    def encode(self, text):
        ids = self.tok.encode(text)
        return [*ids[:-1], 0] if text.endswith("t") else ids


def test_accuracies():
    """By sum the short answer wins, by byte the long one; chance is the mean over the questions."""
    asked = [Question("", ("ab", "abcdefgh"), 1), Question("", ("ab", "cd", "é", "f"), 0)]
    found = Answers(asked, [[-4.0, -8.0], [-1.0, -2.0, -1.5, -3.0]])
    assert found.picks == [0, 0]
    assert found.picks_per_byte == [1, 0]
    assert (found.accuracy, found.accuracy_per_byte, found.chance) == (0.5, 1.0, 0.375)
    assert str(found) == "2 questions: 50.0% correct by likelihood, 100.0% by likelihood per byte; 37.5% by chance"


def test_a_uniform_model_counts_tokens(voice):
    """All ids are equally probable, so a log-likelihood is -tokens * log(V), and the shortest choice is picked."""
    torch.nn.init.zeros_(voice.model.embedding.weight)
    found = answer_choices(voice, ASKED)
    sizes = [[6 - 1, 6 - 1, 7], [5, 1], [6, 6], [5, 17]]
    assert found.log_likelihoods == [pytest.approx([-n * math.log(TOK.vocab_size) for n in row]) for row in sizes]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"line 2 must be a JSON object \(.*\); write one question per line"),
        ("[1]", "line 2 must have either a `prompt` or a `question`, as text"),
        ('{"choices": ["a", "b"], "answer": 0}', "line 2 must have either a `prompt`"),
        ('{"prompt": "a", "question": "b", "choices": ["a", "b"], "answer": 0}', "either a `prompt` or a `question`"),
        ('{"prompt": "a", "choices": ["a"], "answer": 0}', r"line 2: choices=\['a'\] must be a list of two or more"),
        ('{"prompt": "a", "choices": ["a", ""], "answer": 0}', "must be a list of two or more texts that are"),
        ('{"prompt": "a", "choices": ["a", "b"], "answer": 2}', "line 2: answer=2 must be the index .* from 0 to 1"),
        ('{"prompt": "a", "choices": ["a", "b"], "answer": true}', "answer=True must be the index"),
        ('{"prompt": "a", "choices": ["a", "b"], "answer": "b"}', "answer='b' must be the index"),
        ('{"question": "a", "choices": ["a", "b"]}', "answer=None must be the index"),
    ],
)  # fmt: skip
def test_bad_rows(tmp_path, line, said):
    """One sentence with the file and the line."""
    path = tmp_path / "exam.jsonl"
    path.write_text('{"prompt": "a", "choices": ["a", "b"], "answer": 1}\n' + line + "\n")
    with pytest.raises(ReadError, match=f"exam.jsonl: .*{said}"):
        read_questions(path)


def test_an_empty_file_and_a_long_choice(voice, tmp_path):
    """Both are told; a question of a file by its line."""
    path = tmp_path / "exam.jsonl"
    path.write_text("\n")
    with pytest.raises(ReadError, match="exam.jsonl: has no questions; write one object per line"):
        answer_choices(voice, path)
    path.write_text('\n{"question": "a", "choices": ["a", "' + "b" * 50 + '"], "answer": 1}\n')
    with pytest.raises(PlanError, match="line 2: a choice has 51 tokens, more than the model's context of 40; shorten"):
        answer_choices(voice, path)


def test_a_model_that_learned_the_answers(trained, dataprep, tmp_path):
    """The command finds what a model of dialogues learned by heart, if it asks in the template."""
    rows = [{"prompt": q, "choices": list(EXCHANGES.values()), "answer": i} for i, q in enumerate(EXCHANGES)]
    path = tmp_path / "exam.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ask = ("evaluate", trained["chatml"], "--choices", path, "--device", "cpu")
    code, out, _ = dataprep(*ask, "--chat", "--json")
    assert code == 0
    found = json.loads(out)["choices"]
    assert (found["questions"], found["accuracy"]) == (6, 1.0)
    assert [row["pick"] for row in found["rows"]] == [0, 1, 2, 3, 4, 5]
    code, out, _ = dataprep(*ask)
    assert out.startswith("6 questions: ")
    code, _, err = dataprep("evaluate", trained[None], "--choices", path, "--device", "cpu", "--chat")
    assert code == 1
    assert "trained without a chat template, so it cannot be asked in chat format; leave out --chat" in err
    assert "--template" not in err


def test_a_byte_order_mark_is_no_part_of_the_first_question(tmp_path):
    """A file that another program saved as UTF-8 with a mark is read."""
    line = json.dumps({"prompt": "one", "choices": ["a", "b"], "answer": 1})
    (tmp_path / "q.jsonl").write_text(line + "\n" + line, encoding="utf-8-sig")
    assert read_questions(tmp_path / "q.jsonl") == [Question("one", ("a", "b"), 1, n) for n in (1, 2)]
