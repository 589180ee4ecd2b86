# Public names for type checkers; a test proves that they are those of the table in __init__.py.

from . import chats as chats
from . import extend as extend
from . import tools as tools
from .core.model.dataset import Dataset as Dataset
from .core.model.dataset import open_dataset as open_dataset
from .core.model.function import Filter as Filter
from .core.model.function import Map as Map
from .core.model.score import Score as Score
from .core.pipeline import Pipeline as Pipeline
from .dedup.bloom import Bloom as Bloom
from .dedup.exact import Exact as Exact
from .dedup.minhash import MinHash as MinHash
from .dedup.semantic import SemDeDup as SemDeDup
from .dedup.suffix_array import SuffixArray as SuffixArray
from .dedup.url import URLDedup as URLDedup
from .errors import DataprepError as DataprepError
from .experiment.run import experiment as experiment
from .filters.badwords import BadWords as BadWords
from .filters.c4.stage import C4 as C4
from .filters.classifiers.language import Language as Language
from .filters.classifiers.quality import Quality as Quality
from .filters.decontaminate.stage import Decontaminate as Decontaminate
from .filters.fineweb import FineWeb as FineWeb
from .filters.fineweb2 import FineWeb2 as FineWeb2
from .filters.gopher.stage import Gopher as Gopher
from .filters.hosts import Hosts as Hosts
from .filters.mc4 import MC4 as MC4
from .filters.percentiles import Percentiles as Percentiles
from .filters.perplexity import Perplexity as Perplexity
from .filters.refinedweb.stage import RefinedWeb as RefinedWeb
from .filters.repair import RepairText as RepairText
from .filters.robots import Robots as Robots
from .inference.evaluate import evaluate as evaluate
from .inference.generate import generate as generate
from .inference.train import train as train
from .pii.stage import PII as PII
from .read import read as read
from .tokens.mix.mix import Mix as Mix
from .tokens.shards.encode import encode as encode
from .tokens.shards.shard import Shards as Shards
from .tokens.split import Split as Split
from .tokens.vocabulary.train import Tokenizer as Tokenizer
from .tokens.vocabulary.train import train_bpe as train_bpe

__version__: str
