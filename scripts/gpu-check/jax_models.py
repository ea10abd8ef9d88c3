"""The trainings of trainings.js in JAX, without other packages. Convolutions are NCHW, as in PyTorch."""

import math

import jax
import jax.numpy as jnp


def training(name, dtype, gpt):
    """A state and a function (state, x, y) -> (state, loss)."""
    low = jnp.bfloat16 if dtype == "bfloat16" else jnp.float32
    keys = iter(jax.random.split(jax.random.PRNGKey(1), 200))
    parameters, forward = (gpt_model(keys, gpt) if name == "gpt" else MODELS[name](keys))

    def loss_of(parameters, x, y):
        cast = jax.tree.map(lambda p: p.astype(low), parameters)
        scores = forward(cast, x if name == "gpt" else x.astype(low)).astype(jnp.float32)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), y[..., None], -1)
        return -chosen.mean()

    zeros = jax.tree.map(jnp.zeros_like, parameters)

    def sgd(state, x, y):
        parameters, momentum = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return (jax.tree.map(lambda p, m: p - 0.01 * m, parameters, momentum), momentum), loss

    def adamw(state, x, y):
        parameters, first, second, count = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
        one, two = 1 - 0.9**count, 1 - 0.99**count
        update = lambda p, m, v: p * (1 - 1e-4) - 1e-3 * (m / one) / (jnp.sqrt(v / two) + 1e-8)
        return (jax.tree.map(update, parameters, first, second), first, second, count), loss

    if name == "gpt":
        return (parameters, zeros, jax.tree.map(jnp.zeros_like, parameters), jnp.float32(0)), adamw
    return (parameters, zeros), sgd


def weight(keys, *shape):
    bound = 1 / math.sqrt(math.prod(shape[1:]))
    return jax.random.uniform(next(keys), shape, jnp.float32, -bound, bound)


def linear(keys, before, after):
    return weight(keys, after, before), jnp.zeros(after)


def apply_linear(p, x):
    return x @ p[0].T + p[1]


def conv(x, w, stride=1, padding=0):
    return jax.lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        [(padding, padding)] * 2,
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
        precision="tensorfloat32",
    )


def pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def small_cnn(channels, features):
    """Two convolutions of 5x5 with pools, then linear layers."""

    def create(keys):
        convolutions = [
            (weight(keys, after, before, 5, 5), jnp.zeros(after)) for before, after in zip(channels, channels[1:])
        ]
        layers = [linear(keys, before, after) for before, after in zip(features, features[1:])]

        def forward(p, x):
            for w, b in p["convolutions"]:
                x = pool(jax.nn.relu(conv(x, w) + b[:, None, None]))
            x = x.reshape(x.shape[0], -1)
            for layer in p["layers"][:-1]:
                x = jax.nn.relu(apply_linear(layer, x))
            return apply_linear(p["layers"][-1], x)

        return {"convolutions": convolutions, "layers": layers}, forward

    return create


def batch_norm(p, x):
    """Of training: with the statistics of the batch, in float32."""
    wide = x.astype(jnp.float32)
    mean, var = wide.mean((0, 2, 3), keepdims=True), wide.var((0, 2, 3), keepdims=True)
    normal = (wide - mean) * jax.lax.rsqrt(var + 1e-5)
    return (normal * p[0][:, None, None] + p[1][:, None, None]).astype(x.dtype)


def resnet18(keys):
    norm = lambda after: (jnp.ones(after), jnp.zeros(after))
    blocks, strides, before = [], [], 64
    for stage, after in enumerate([64, 128, 256, 512]):
        for place in range(2):
            stride = 2 if place == 0 and stage > 0 else 1
            block = {
                "conv1": weight(keys, after, before, 3, 3),
                "bn1": norm(after),
                "conv2": weight(keys, after, after, 3, 3),
                "bn2": norm(after),
            }
            if stride != 1 or before != after:
                block |= {"shortcut": weight(keys, after, before, 1, 1), "bn3": norm(after)}
            blocks.append(block)
            strides.append(stride)
            before = after
    parameters = {"conv": weight(keys, 64, 3, 3, 3), "bn": norm(64), "blocks": blocks, "fc": linear(keys, 512, 10)}

    def forward(p, x):
        x = jax.nn.relu(batch_norm(p["bn"], conv(x, p["conv"], 1, 1)))
        for block, stride in zip(p["blocks"], strides):
            hidden = jax.nn.relu(batch_norm(block["bn1"], conv(x, block["conv1"], stride, 1)))
            residual = batch_norm(block["bn2"], conv(hidden, block["conv2"], 1, 1))
            if "shortcut" in block:
                x = batch_norm(block["bn3"], conv(x, block["shortcut"], stride))
            x = jax.nn.relu(residual + x)
        return apply_linear(p["fc"], x.mean((2, 3)))

    return parameters, forward


def gpt_model(keys, config):
    width, heads, layers = config["width"], config["heads"], config["layers"]
    normal = lambda *shape: 0.02 * jax.random.normal(next(keys), shape)
    block = lambda: {
        "ln1": jnp.ones(width),
        "qkv": normal(3 * width, width),
        "proj": normal(width, width),
        "ln2": jnp.ones(width),
        "hidden": normal(4 * width, width),
        "hidden_proj": normal(width, 4 * width),
    }
    parameters = {
        "wte": normal(config["vocab_size"], width),
        "wpe": normal(config["context"], width),
        "blocks": [block() for _ in range(layers)],
        "ln_f": jnp.ones(width),
    }

    def layer_norm(w, x):
        wide = x.astype(jnp.float32)
        mean, var = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
        return ((wide - mean) * jax.lax.rsqrt(var + 1e-5)).astype(x.dtype) * w

    def forward(p, tokens):
        n, length = tokens.shape
        x = p["wte"][tokens] + p["wpe"][:length]
        for b in p["blocks"]:
            parts = jnp.split(layer_norm(b["ln1"], x) @ b["qkv"].T, 3, -1)
            query, key, value = (part.reshape(n, length, heads, width // heads) for part in parts)
            attended = jax.nn.dot_product_attention(query, key, value, is_causal=True)
            x = x + attended.reshape(n, length, width) @ b["proj"].T
            x = x + jax.nn.gelu(layer_norm(b["ln2"], x) @ b["hidden"].T, approximate=False) @ b["hidden_proj"].T
        return layer_norm(p["ln_f"], x) @ p["wte"].T

    return parameters, forward


MODELS = {
    "mnist": small_cnn([1, 20, 50], [800, 500, 10]),
    "cifar": small_cnn([3, 6, 16], [400, 120, 84, 10]),
    "resnet18": resnet18,
}
