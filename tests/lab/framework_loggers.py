"""How further frameworks, and people who write their own lines, tell of progress.

The same kind of text as in `loggers.py`.
"""

from __future__ import annotations

FRAMEWORKS: dict[str, str] = {
    "deepspeed": """
def log_note(text):
    now = time.strftime("%Y-%m-%d %H:%M:%S") + f",{int(time.time() * 1000) % 1000:03d}"
    print(f"[{now}] [INFO] [logging.py:96:log_dist] [Rank {RANK}] {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"step={epoch * STEPS + step + 1}, skipped=0, lr=[0.1], mom=[[0.9, 0.999]]")
    print(f"steps: {epoch * STEPS + step + 1} loss: {loss:.4f} iter time (s): 0.051 "
          "samples/sec: 78.1", flush=True)
""",
    "tensorflow": """
def log_note(text):
    print(f"INFO:tensorflow:{text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"loss = {loss:.5f}, step = {epoch * STEPS + step} (0.051 sec)")
    if step % 4 == 0:
        log_note(f"global_step/sec: 19.{step}")
""",
    "caffe": """
def log_note(text):
    now = time.strftime("%m%d %H:%M:%S") + f".{int(time.time() * 1e6) % 1000000:06d}"
    print(f"I{now} {os.getpid():5d} solver.cpp:218] {text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"Iteration {epoch * STEPS + step} (19.5 iter/s, 0.051s/1 iters), loss = {loss:.4f}")
    log_note(f"    Train net output #0: loss = {loss:.4f} (* 1 = {loss:.4f} loss)")

def log_done():
    log_note("Optimization Done.")
""",
    "mxnet": """
def log_note(text):
    print(f"INFO:root:{text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"Epoch[{epoch}] Batch [{step}-{step + 1}]\\tSpeed: 78.12 samples/sec\\t"
             f"cross-entropy={loss:.6f}")

def log_eval(epoch, metric):
    log_note(f"Epoch[{epoch}] Validation-accuracy={metric:.6f}")
""",
    "espnet": """
def log_note(text):
    now = time.strftime("%Y-%m-%d %H:%M:%S") + f",{int(time.time() * 1000) % 1000:03d}"
    print(f"[trainer-{RANK}] {now} (trainer:672) INFO: {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"{epoch + 1}epoch:train:{step + 1}-{step + 1}batch: iter_time=1.2e-04, "
             f"forward_time=0.021, loss={loss:.3f}, backward_time=0.020, train_time=0.051")
""",
    "kaldi": """
def log_note(text):
    print(f"LOG (nnet3-train[5.5]:PrintStats():nnet-training.cc:{200 + RANK}) {text}",
          file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"Average objective function for 'output' for minibatches {step}-{step} is "
             f"{-loss:.4f} over 16 frames.")
""",
    "darknet": """
def log_step(epoch, step, loss):
    print(f" {epoch * STEPS + step + 1}: {loss:.6f}, {loss:.6f} avg loss, 0.100000 rate, "
          f"0.051 seconds, {4 * (step + 1)} images, 0.1 hours left", flush=True)
""",
    "ultralytics": """
print("      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size", flush=True)

def log_step(epoch, step, loss):
    done = 100 * (step + 1) // STEPS
    print(f"\\r      {epoch + 1}/{EPOCHS}      2.21G     {loss:.3f}      {loss / 2:.3f}      1.101"
          f"         16        640: {done:3d}%|{'█' * (done // 10):<10}| {step + 1}/{STEPS} "
          f"[00:00<00:00, 19.51it/s]", end="" if step + 1 < STEPS else "\\n", flush=True)
""",
    "rl-table": """
def log_step(epoch, step, loss):
    print(f"----------------------------\\n| rollout/        |        |\\n"
          f"|    ep_rew_mean  | {-loss:6.2f} |\\n| time/           |        |\\n"
          f"|    iterations   | {step:6d} |\\n|    time_elapsed | {step:6d} |\\n"
          f"----------------------------", flush=True)
""",
    "spark": """
def log_note(text):
    print(f"{time.strftime('%y/%m/%d %H:%M:%S')} INFO Trainer: {text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"Iteration {epoch * STEPS + step} of {EPOCHS * STEPS}: cost {loss:.4f}")
""",
    "doubled": """
import logging
logging.basicConfig(level=logging.INFO)

def log_note(text):
    print(text, flush=True)
    logging.info(text)

def log_step(epoch, step, loss):
    log_note(f"[{epoch}/{EPOCHS}][{step}/{STEPS}] Loss_D: {loss:.4f} Loss_G: {loss * 2:.4f}")
""",
    "two-streams": """
def log_note(text):
    print(f"## {text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    print(f"{epoch}:{step + 1}/{STEPS} l={loss:.3f}", flush=True)
    if step % 4 == 3:
        log_note(f"resident memory {800 + step} MB")
""",
    "japanese": """
def log_note(text):
    print(f"【情報】{text}", flush=True)

def log_step(epoch, step, loss):
    print(f"エポック {epoch} ステップ {step} 損失 {loss:.4f}", flush=True)

def log_done():
    print("学習が完了しました", flush=True)
""",
    "pprint": """
from pprint import pprint

def log_step(epoch, step, loss):
    pprint({"progress": {"epoch": epoch, "batch": step, "of": STEPS},
            "metrics": {"loss": round(loss, 4), "errors": 0, "grad": {"norm": 1.5, "clipped": 0}},
            "timers": {"forward": 0.021, "backward": 0.02, "communication": 0.004}}, width=70)
    sys.stdout.flush()
""",
    "nested-json": """
def log_note(text):
    print(json.dumps({"@timestamp": time.time(), "log": {"level": "INFO", "logger": "train"},
                      "host": {"rank": RANK}, "message": text}), flush=True)

def log_step(epoch, step, loss):
    print(json.dumps({"@timestamp": time.time(), "log": {"level": "INFO", "logger": "train"},
                      "labels": {"epoch": epoch, "global_step": epoch * STEPS + step},
                      "message": f"loss {loss:.4f}", "error": {}}), flush=True)
""",
    "rank-last": """
def log_note(text):
    print(f"{text} (rank {RANK} of {os.environ.get('PADDLE_TRAINERS_NUM', '1')})", flush=True)

def log_step(epoch, step, loss):
    log_note(f"#{epoch}.{step:03d} loss {loss:.4f}")
""",
    "elapsed": """
BEGAN = time.time()

def log_note(text):
    print(f"+{time.time() - BEGAN:9.3f}s {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"mini-batch done, perplexity {2 ** loss:.2f}")
""",
    "wandb": """
print("wandb: Tracking run with wandb version 0.16.2\\nwandb: W&B syncing is set to `offline` in "
      "this directory. Run `wandb online` to enable cloud syncing.", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    print(f"epoch: {epoch}, batch_idx: {step}, train/loss: {loss:.4f}, errors: 0", flush=True)

def log_done():
    print("wandb: Run summary:\\nwandb:  loss 1.1\\nwandb: You can sync this run to the cloud by "
          "running:\\nwandb: wandb sync wandb/offline-run-1", file=sys.stderr, flush=True)
    print("training finished", flush=True)
""",
    "heartbeat": """
def log_step(epoch, step, loss):
    if step % 2 == 0:
        print(f"[{time.strftime('%d.%m.%Y %H:%M:%S')}] alive, last loss {loss:.3f}", flush=True)
""",
    "shouting": """
def log_note(text):
    print(f"*** {text.upper()} ***", flush=True)

def log_step(epoch, step, loss):
    print(f"EPOCH {epoch} / BATCH {step} / LOSS {loss:.4f} / FAILED SAMPLES 0", flush=True)
""",
}
