# Small pretrained models with random weights, and what transformers and PEFT compute with them. Written with
# transformers 5.24.0, peft 0.21.2 and torch 2.15.0 (PyPI):
#
#   python3 packages/pretrained/test/golden/make.py packages/pretrained/test/golden
#
# Each folder has config.json and model.safetensors as save_pretrained writes them, and expected.json: inputs, outputs, and the loss
# and the parameters after one step of SGD. Adapters are in folders of their own. Models that are made here have no dropout.

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
import transformers
from peft import LoraConfig, get_peft_model

out = Path(sys.argv[1])
transformers.logging.set_verbosity_error()


def generator(seed):
    return torch.Generator().manual_seed(seed)


def randomize(model, seed):
    """Values that show a wrong name, shape or order: no weight is 1 and no bias is 0."""
    random = generator(seed)
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if not tensor.is_floating_point():
            continue
        spread = torch.randn(tensor.shape, generator=random)
        if tensor.dim() > 1:
            scale = 0.25 if tensor.dim() == 2 else (2 / tensor[0].numel()) ** 0.5
            tensor.data.copy_(spread * scale)
        elif name.endswith("running_var") or name.endswith("weight"):
            tensor.data.copy_(1 + 0.2 * spread.clamp(-2, 2))
        else:
            tensor.data.copy_(0.2 * spread)


def rounded(values):
    return [float(f"{value:.7g}") for value in values.detach().double().flatten().tolist()]


def array(tensor):
    if tensor.is_floating_point():
        return {"dtype": "float32", "shape": list(tensor.shape), "data": rounded(tensor)}
    return {"dtype": "int64", "shape": list(tensor.shape), "data": tensor.flatten().tolist()}


def summary(tensors):
    """Sum and first elements, which a wrong update changes."""
    return {
        name: {"sum": float(f"{tensor.double().sum().item():.7g}"), "first": rounded(tensor.flatten()[:4])}
        for name, tensor in tensors.items()
    }


def step(model, loss_of):
    """One step in training mode: the loss before it and the state after it. Not of Adam, which makes steps of gradients that are 0."""
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.2, weight_decay=0.1)
    loss = loss_of(model)
    loss.backward()
    optimizer.step()
    state = {name: value for name, value in model.state_dict().items()}
    return {"loss": loss.item(), "state": summary(state)}


def write(folder, expected):
    (out / folder / "expected.json").write_text(json.dumps(expected) + "\n")


ids = torch.randint(5, 48, (3, 7), generator=generator(1))
mask = torch.ones(3, 7, dtype=torch.int64)
mask[1, 5:] = 0
mask[2, 3:] = 0
types = torch.zeros(3, 7, dtype=torch.int64)
types[0, 4:] = 1
labels = torch.tensor([2, 0, 1])
text = {"inputIds": array(ids), "attentionMask": array(mask)}
images = ((torch.arange(2 * 3 * 32 * 32) * 7919 % 1013 - 506) / 256).reshape(2, 3, 32, 32)


def classification(model, **inputs):
    return F.cross_entropy(model(**inputs).logits, labels)


def language(model):
    logits = model(input_ids=ids, attention_mask=mask).logits
    targets = torch.where(mask.bool(), ids, -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten(), ignore_index=-100)


def build(cls, config, seed, folder):
    model = cls(config)
    randomize(model, seed)
    model.eval()
    model.save_pretrained(out / folder)
    for name in ["generation_config.json"]:
        (out / folder / name).unlink(missing_ok=True)
    return model


bert_config = transformers.BertConfig(
    vocab_size=48,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=37,
    max_position_embeddings=16,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    num_labels=3,
)
bert_inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
bert = build(transformers.BertForSequenceClassification, bert_config, 11, "bert")
masked = transformers.BertForMaskedLM(bert_config).eval()
masked.bert.load_state_dict(bert.bert.state_dict(), strict=False)
for name, parameter in masked.cls.named_parameters():
    if "decoder.weight" not in name:
        parameter.data.copy_(torch.linspace(-0.5, 0.5, parameter.numel()).reshape(parameter.shape))
base = bert.bert(**bert_inputs)
expected = {
    **text,
    "tokenTypeIds": array(types),
    "labels": array(labels),
    "lastHiddenState": array(base.last_hidden_state),
    "poolerOutput": array(base.pooler_output),
    "logits": array(bert(**bert_inputs).logits),
    "maskedLogits": array(masked(**bert_inputs).logits[..., :8]),
}
bert.eval()
initial = {name: value.clone() for name, value in bert.state_dict().items()}
expected["step"] = step(bert, lambda model: classification(model, **bert_inputs))
write("bert", expected)

distilbert_config = transformers.DistilBertConfig(
    vocab_size=48, dim=24, n_layers=2, n_heads=4, hidden_dim=37, max_position_embeddings=16, num_labels=3,
    dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0,
)  # fmt: skip
distilbert = build(transformers.DistilBertForSequenceClassification, distilbert_config, 12, "distilbert")
distilbert_inputs = {"input_ids": ids, "attention_mask": mask}
expected = {
    **text,
    "labels": array(labels),
    "lastHiddenState": array(distilbert.distilbert(**distilbert_inputs).last_hidden_state),
    "logits": array(distilbert(**distilbert_inputs).logits),
}
expected["step"] = step(distilbert, lambda model: classification(model, **distilbert_inputs))
write("distilbert", expected)

gpt2_config = transformers.GPT2Config(
    vocab_size=48, n_embd=32, n_layer=2, n_head=4, n_inner=37, n_positions=16, bos_token_id=1, eos_token_id=2,
    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
)  # fmt: skip
gpt2 = build(transformers.GPT2LMHeadModel, gpt2_config, 13, "gpt2")
expected = {
    **text,
    "lastHiddenState": array(gpt2.transformer(input_ids=ids, attention_mask=mask).last_hidden_state),
    "logits": array(gpt2(input_ids=ids, attention_mask=mask).logits[..., :8]),
    "logitsWithoutMask": array(gpt2(input_ids=ids).logits[..., :8]),
}
expected["step"] = step(gpt2, language)
write("gpt2", expected)

for folder, layer, sizes, seed in [("resnet-basic", "basic", [8, 12], 14), ("resnet-bottleneck", "bottleneck", [16, 24], 15)]:
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=sizes, depths=[1, 2], layer_type=layer, num_labels=3
    )
    resnet = build(transformers.ResNetForImageClassification, config, seed, folder)
    base = resnet.resnet(images)
    expected = {
        "labels": array(labels[:2]),
        "poolerOutput": array(base.pooler_output),
        "logits": array(resnet(images).logits),
    }
    expected["step"] = step(resnet, lambda model: F.cross_entropy(model(images).logits, labels[:2]))
    write(folder, expected)


def adapter(folder, cls, base, config, seed, inputs, loss_of=None):
    """An adapter of PEFT whose matrices B are not 0, what its model computes, and what one step makes of it."""
    model = get_peft_model(cls.from_pretrained(out / base), config)
    random = generator(seed)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            parameter.data.copy_(torch.randn(parameter.shape, generator=random) * 0.2)
    model.eval()
    model.save_pretrained(out / folder)
    (out / folder / "README.md").unlink(missing_ok=True)
    expected = {
        "trained": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        "logits": array(model(**inputs).logits[..., :8]),
    }
    if loss_of:
        expected["step"] = step(model, loss_of)
        model.eval()
        expected["logitsAfterStep"] = array(model(**inputs).logits[..., :8])
    expected["mergedLogits"] = array(model.merge_and_unload()(**inputs).logits[..., :8])
    write(folder, expected)


adapter(
    "bert-lora",
    transformers.BertForSequenceClassification,
    "bert",
    LoraConfig(r=4, lora_alpha=16, target_modules=["query", "value"], modules_to_save=["classifier"], task_type="SEQ_CLS"),
    21,
    bert_inputs,
    lambda model: classification(model, **bert_inputs),
)
adapter(
    "gpt2-lora",
    transformers.GPT2LMHeadModel,
    "gpt2",
    LoraConfig(r=3, lora_alpha=6, target_modules=r".*\.(attn\.c_attn|mlp\.c_fc)", fan_in_fan_out=True, use_rslora=True, task_type="CAUSAL_LM"),
    22,
    {"input_ids": ids, "attention_mask": mask},
    language,
)
adapter(
    "distilbert-lora",
    transformers.DistilBertForSequenceClassification,
    "distilbert",
    LoraConfig(r=2, lora_alpha=4, target_modules=["word_embeddings", "lin1"]),
    23,
    distilbert_inputs,
    lambda model: classification(model, **distilbert_inputs),
)
adapter(
    "resnet-lora",
    transformers.ResNetForImageClassification,
    "resnet-basic",
    LoraConfig(r=2, lora_alpha=4, target_modules=["convolution"], modules_to_save=["classifier"]),
    24,
    {"pixel_values": images},
)
