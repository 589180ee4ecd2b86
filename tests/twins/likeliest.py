"""Twin of `filters/classifiers/likeliest.py` and `tables.py`: fastText asked about one text after the other."""


def likeliest(path, texts):
    """(label, probability) of every text by the model at `path`; None for a text without an answer."""
    import fasttext

    model = fasttext.FastText._FastText(model_path=path)
    found = [model.f.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict") for text in texts]
    return [(some[0][1].removeprefix("__label__"), some[0][0]) if some else None for some in found]
