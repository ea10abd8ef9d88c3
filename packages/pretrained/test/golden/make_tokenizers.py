# Small tokenizers, and how transformers encodes texts with them, for test/tokenizer. Written with transformers 5.24.0:
#
#   python3 packages/pretrained/test/golden/make_tokenizers.py packages/pretrained/test/golden

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

out = Path(sys.argv[1])
CORPUS = ["the ring sends and receives the sums of all ranks", "a rank sends, another receives; all wait", "rings run"] * 4
TEXTS = ["The ring runs.", "", "all ranks: SENDS & receives über the ring, the ring, the ring", "naïve rank"]
PAIRS = [["the ring runs and all wait for the sums", "yes, all ranks"], ["a", "the ranks send and receive all of the sums"]]


def bert():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=80, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.decoder = decoders.WordPiece()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=12, **names)


def gpt2():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=16, eos_token="<|endoftext|>", pad_token="<|endoftext|>")


for name, tokenizer in [("tokenizer-bert", bert()), ("tokenizer-gpt2", gpt2())]:
    tokenizer.save_pretrained(out / name)
    cases = [
        (TEXTS, {"padding": "longest"}, {}),
        (TEXTS, {"padding": "max_length", "max_length": 9}, {"padding": "maxLength", "maxLength": 9}),
        (TEXTS[:2], {"padding": "longest", "pad_to_multiple_of": 4}, {"padToMultipleOf": 4}),
        (TEXTS, {"padding": "longest", "add_special_tokens": False}, {"addSpecialTokens": False}),
        (PAIRS, {"padding": "longest"}, {}),
        (PAIRS, {"padding": "longest", "max_length": 8}, {"maxLength": 8}),
    ]
    expected = []
    for texts, options, ours in cases:
        found = tokenizer(texts, truncation=True, return_token_type_ids=True, **options)
        expected.append({"texts": texts, "options": ours, **{key: found[key] for key in ("input_ids", "attention_mask", "token_type_ids")}})
    ids = tokenizer(TEXTS[0])["input_ids"]
    decoded = {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True)}
    (out / name / "expected.json").write_text(json.dumps({"cases": expected, "decoded": decoded}) + "\n")
