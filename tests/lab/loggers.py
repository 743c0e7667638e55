"""Twenty and more ways in which training scripts tell of their progress.

Each is Python text that defines ``log_step(epoch, step, loss)``; what it does not define of
``log_note``, ``log_eval``, ``log_saved`` and ``log_done`` is printed plainly.
"""

from __future__ import annotations

from .framework_loggers import FRAMEWORKS

PLAIN = """
def log_note(text):
    print(text, flush=True)

def log_eval(epoch, metric):
    log_note(f"eval epoch {epoch} acc {metric:.4f}")

def log_saved(path):
    log_note(f"saved model to {path}")

def log_done():
    log_note("training finished")
"""

LOGGERS: dict[str, str] = {
    "print": """
def log_step(epoch, step, loss):
    print(f"epoch {epoch} step {step} loss {loss:.4f}", flush=True)
""",
    "logging": """
import logging
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
LOG = logging.getLogger("train")

def log_note(text):
    LOG.info(text)

def log_step(epoch, step, loss):
    LOG.info("epoch %d, step %d, loss %.4f", epoch, step, loss)
""",
    "loguru": """
def log_note(text):
    now = time.strftime("%Y-%m-%d %H:%M:%S") + f".{int(time.time() * 1000) % 1000:03d}"
    print(f"{now} | INFO     | __main__:train:87 - {text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"epoch={epoch} iter={step} loss={loss:.5f}")
""",
    "tqdm": """
def log_step(epoch, step, loss):
    done = int(20 * (step + 1) / STEPS)
    bar = "█" * done + " " * (20 - done)
    part = 100 * (step + 1) // STEPS
    print(f"\\rEpoch {epoch}: {part:3d}%|{bar}| {step + 1}/{STEPS} [00:0{step % 10}<00:01, "
          f" 9.{step % 10}1it/s, loss={loss:.3f}]", end="", file=sys.stderr, flush=True)
    if step + 1 == STEPS:
        print(file=sys.stderr, flush=True)
""",
    "json-lines": """
def log_note(text):
    print(json.dumps({"time": time.time(), "rank": RANK, "event": text}), flush=True)

def log_step(epoch, step, loss):
    print(json.dumps({"time": round(time.time(), 3), "epoch": epoch, "step": step,
                      "loss": round(loss, 5)}), flush=True)
""",
    "csv": """
print("time,epoch,step,loss,lr", flush=True)

def log_step(epoch, step, loss):
    print(f"{time.time():.3f},{epoch},{step},{loss:.6f},0.1", flush=True)
""",
    "glog": """
def log_note(text):
    now = time.strftime("%m%d %H:%M:%S") + f".{int(time.time() * 1e6) % 1000000:06d}"
    print(f"I{now} {os.getpid():5d} trainer.cc:214] {text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"batch {epoch * STEPS + step} cost {loss:.4f}")
    if step % 3 == 0:
        log_note(f"memory pool: {1024 + step} KB in 3 chunks, 0 failed requests")
""",
    "ppcls": """
def log_note(text):
    print(f"[{time.strftime('%Y/%m/%d %H:%M:%S')}] ppcls INFO: {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"[Train][Epoch {epoch + 1}/{EPOCHS}][Iter: {step}/{STEPS}]lr(Constant): 0.10000000, "
             f"top1: 0.25000, top5: 1.00000, CELoss: {loss:.5f}, loss: {loss:.5f}, "
             f"batch_cost: 0.05150s, reader_cost: 0.00021, ips: 77.66990 samples/s, eta: 0:00:00")

def log_eval(epoch, metric):
    log_note(f"[Eval][Epoch {epoch + 1}][Avg]CELoss: 1.38, loss: 1.38, top1: {metric:.5f}")
    log_note(f"[Eval][Epoch {epoch + 1}][best metric: {metric:.5f}]")

def log_saved(path):
    log_note(f"Already save model in {path}")
""",
    "ppdet": """
def log_note(text):
    print(f"[{time.strftime('%m/%d %H:%M:%S')}] ppdet.engine INFO: {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"Epoch: [{epoch}] [{step:>4}/{STEPS}] learning_rate: 0.100000 "
             f"loss_cls: {loss / 2:.6f} loss: {loss:.6f} eta: 0:00:03 batch_cost: 0.0512 "
             f"data_cost: 0.0003 ips: 78.1250 images/s")

def log_eval(epoch, metric):
    log_note("Eval iter: 0")
    log_note(f"Total sample number: 64, average FPS: 31.2, AP {metric:.3f}")

def log_saved(path):
    log_note(f"Save checkpoint: {path}")
""",
    "ppocr": """
def log_note(text):
    print(f"[{time.strftime('%Y/%m/%d %H:%M:%S')}] ppocr INFO: {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"epoch: [{epoch + 1}/{EPOCHS}], global_step: {epoch * STEPS + step}, lr: 0.100000, "
             f"acc: 0.250000, norm_edit_dis: 0.3, loss: {loss:.6f}, avg_reader_cost: 0.00021 s, "
             f"avg_batch_cost: 0.05150 s, avg_samples: 4.0, ips: 77.66 samples/s, eta: 0:00:02")

def log_eval(epoch, metric):
    log_note(f"cur metric, acc: {metric:.6f}, norm_edit_dis: 0.41, fps: 312.2")

def log_saved(path):
    log_note(f"save model in {path}")
""",
    "ppseg": """
def log_note(text):
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [INFO]\\t{text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"[TRAIN] epoch: {epoch + 1}, iter: {epoch * STEPS + step + 1}/{EPOCHS * STEPS}, "
             f"loss: {loss:.4f}, lr: 0.100000, batch_cost: 0.0512, reader_cost: 0.00021, "
             f"ips: 78.1 samples/sec | ETA 00:00:02")

def log_eval(epoch, metric):
    log_note(f"[EVAL] #Images: 16 mIoU: {metric:.4f} Acc: 0.4012 Kappa: 0.1 Dice: 0.3")
""",
    "paddlenlp": """
def log_note(text):
    print(f"[{time.strftime('%Y-%m-%d %H:%M:%S')},{int(time.time() * 1000) % 1000:03d}] "
          f"[    INFO] - {text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"loss: {loss:.8f}, learning_rate: 0.1, global_step: {epoch * STEPS + step + 1}, "
             f"interval_runtime: 0.0512, interval_samples_per_second: 78.1, "
             f"interval_steps_per_second: 19.5, progress_or_epoch: {epoch}.{step}")

def log_eval(epoch, metric):
    log_note("***** Running Evaluation *****")
    log_note(f"eval_loss: 1.38, eval_accuracy: {metric:.4f}, eval_runtime: 0.1, epoch: {epoch}.0")

def log_saved(path):
    log_note(f"Saving model checkpoint to {path}")

def log_done():
    log_note("\\nTraining completed. \\n")
""",
    "hapi": """
def log_step(epoch, step, loss):
    if step == 0:
        print(f"Epoch {epoch + 1}/{EPOCHS}", flush=True)
    print(f"step {step + 1}/{STEPS} [{'=' * (step + 1):<{STEPS}}] - loss: {loss:.4f} - acc: 0.2500"
          f" - 51ms/step", flush=True)

def log_eval(epoch, metric):
    print("Eval begin...", flush=True)
    print(f"step 4/4 - loss: 1.3863 - acc: {metric:.4f} - 11ms/step\\nEval samples: 16", flush=True)

def log_saved(path):
    print(f"save checkpoint at {path}", flush=True)
""",
    "visualdl": """
print("VisualDL: scalars are written to runs/vdl, open with visualdl --logdir runs", flush=True)

def log_step(epoch, step, loss):
    os.makedirs("runs/vdl", exist_ok=True)
    with open(f"runs/vdl/rank{RANK}.log", "a") as scalars:
        scalars.write(f"{epoch * STEPS + step}\\t{loss}\\n")
""",
    "rank-prefix": """
def log_note(text):
    print(f"[rank{RANK}] {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"iteration {epoch * STEPS + step}/{EPOCHS * STEPS} | loss {loss:.3e} | lr 1.0e-01")
""",
    "chinese": """
def log_note(text):
    print(text, flush=True)

def log_step(epoch, step, loss):
    print(f"第 {epoch} 轮 第 {step} 步 损失 {loss:.4f} 错误率 0.{step}", flush=True)

def log_eval(epoch, metric):
    print(f"第 {epoch} 轮 评估完成 准确率 {metric:.4f}", flush=True)

def log_saved(path):
    print(f"模型已保存到 {path}", flush=True)

def log_done():
    print("训练完成", flush=True)
""",
    "no-steps": """
def log_step(epoch, step, loss):
    print(f"{time.strftime('%H:%M:%S')} processed another batch, loss now {loss:.4f}", flush=True)
""",
    "nothing": """
def log_note(text):
    pass

def log_step(epoch, step, loss):
    pass
""",
    "key-value": """
def log_note(text):
    now = time.strftime("%Y-%m-%dT%H:%M:%S")
    print(f'ts={now} level=info rank={RANK} msg="{text}"', flush=True)

def log_step(epoch, step, loss):
    print(f'ts={time.strftime("%Y-%m-%dT%H:%M:%S")} level=info rank={RANK} epoch={epoch} '
          f'step={step} loss={loss:.5f}', flush=True)
""",
    "colours": """
def log_note(text):
    print(f"\\033[32m[INFO]\\033[0m {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"\\033[1mstep {step}\\033[0m of epoch {epoch} loss \\033[33m{loss:.4f}\\033[0m")
""",
    "epochs-only": """
def log_step(epoch, step, loss):
    if step + 1 == STEPS:
        print(f"Epoch {epoch}: mean loss {loss:.4f}", flush=True)
""",
    "megatron": """
def log_note(text):
    print(f" > {text} ...", flush=True)

def log_step(epoch, step, loss):
    number = epoch * STEPS + step + 1
    print(f" iteration {number:8d}/{EPOCHS * STEPS:8d} | consumed samples: {4 * number:12d} | "
          f"elapsed time per iteration (ms): 51.2 | learning rate: 1.0E-01 | lm loss: {loss:.6E} | "
          f"loss scale: 1.0 | number of skipped iterations:   0 | number of nan iterations:   0 |",
          flush=True)

def log_done():
    log_note("[after training is done] datetime: 2026-11-18 04:00:00")
""",
    "keras": """
def log_step(epoch, step, loss):
    if step == 0:
        print(f"Epoch {epoch + 1}/{EPOCHS}", flush=True)
    print(f"{step + 1:>3}/{STEPS} [{'=' * step}>{'.' * (STEPS - step - 1)}] - ETA: 0s - "
          f"loss: {loss:.4f} - accuracy: 0.2500", flush=True)
""",
    "lightning": """
def log_step(epoch, step, loss):
    print(f"\\rEpoch {epoch}:  {100 * (step + 1) // STEPS}%|{'█' * step}| {step + 1}/{STEPS} "
          f"[00:00<00:00, 19.53it/s, v_num=0, train_loss={loss:.3f}]", end="", flush=True)
    if step + 1 == STEPS:
        print(flush=True)

def log_done():
    print(f"`Trainer.fit` stopped: `max_epochs={EPOCHS}` reached.", flush=True)
""",
    "multi-line": """
def log_step(epoch, step, loss):
    print(f"--- batch {step} of epoch {epoch} ---\\n    loss      {loss:.5f}\\n    lr        0.1\\n"
          f"    grad norm {loss / 3:.4f}", flush=True)
""",
    "dots": """
def log_step(epoch, step, loss):
    print(".", end="", flush=True)
    if step + 1 == STEPS:
        print(f" epoch {epoch} done, loss {loss:.4f}", flush=True)
""",
    "percent": """
def log_step(epoch, step, loss):
    print(f"[{time.strftime('%H:%M:%S')}] {100 * (epoch * STEPS + step + 1) / (EPOCHS * STEPS):.1f}"
          f" % trained, running loss {loss:.4f}", flush=True)
""",
    "warning-level": """
import logging
logging.basicConfig(format="%(levelname)s:%(name)s:%(message)s")

def log_note(text):
    logging.warning(text)

def log_step(epoch, step, loss):
    logging.warning("step=%d loss=%.4f failed_batches=0 errors=0", epoch * STEPS + step, loss)
""",
    "json-errors": """
def log_note(text):
    print(json.dumps({"ts": time.time(), "lvl": "info", "error": None, "msg": text}), flush=True)

def log_step(epoch, step, loss):
    print(json.dumps({"ts": time.time(), "lvl": "info", "error": None, "exception": "", "it": step,
                      "ep": epoch, "loss": loss}), flush=True)
""",
    "emoji": """
def log_note(text):
    print(f"🚀 {text}", flush=True)

def log_step(epoch, step, loss):
    print(f"⏳ epoch {epoch} · {step + 1}/{STEPS} · loss {loss:.4f} ✅", flush=True)
""",
    "long-lines": """
def log_step(epoch, step, loss):
    norms = ", ".join(f"linear_{n}.w_0: {loss / (n + 1):.6f}" for n in range(120))
    print(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] it {epoch * STEPS + step} loss {loss:.5f} "
          f"gradient norms: {norms}", flush=True)
""",
    "every-fifth": """
def log_step(epoch, step, loss):
    if step % 5 == 0:
        print(f"Train Epoch: {epoch} [{4 * step}/{4 * STEPS} ({100 * step / STEPS:.0f}%)]\\tLoss: "
              f"{loss:.6f}", flush=True)

def log_eval(epoch, metric):
    print(f"\\nTest set: Average loss: 1.3863, Accuracy: 4/16 ({100 * metric:.0f}%)\\n", flush=True)
""",
    "gbk": """
def log_note(text):
    sys.stdout.buffer.write(f"提示 {text}\\n".encode("gbk"))
    sys.stdout.buffer.flush()

def log_step(epoch, step, loss):
    log_note(f"轮次 {epoch} 批次 {step} 损失 {loss:.4f}")

def log_done():
    log_note("训练结束")
""",
    "timings": """
def log_step(epoch, step, loss):
    print(f"{time.time():.2f} fwd 3.1ms bwd 5.2ms comm 1.{step}ms total 9.{step}ms loss {loss:.3f} "
          f"error rate {10 + step}.5 %", flush=True)
""",
    "table": """
print("| epoch | batch |   loss |   time |", flush=True)

def log_step(epoch, step, loss):
    print(f"| {epoch:5d} | {step:5d} | {loss:6.4f} | {time.time() % 1000:6.2f} |", flush=True)
""",
    "mmcv": """
def log_note(text):
    now = time.strftime("%Y-%m-%d %H:%M:%S") + f",{int(time.time() * 1000) % 1000:03d}"
    print(f"{now} - mmseg - INFO - {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"Epoch [{epoch + 1}][{step + 1}/{STEPS}]\\tlr: 1.000e-01, eta: 0:00:03, "
             f"time: 0.051, data_time: 0.002, memory: 812, loss: {loss:.4f}")
""",
    "dict": """
def log_step(epoch, step, loss):
    print({"loss": round(loss, 4), "grad_norm": 1.5, "learning_rate": 0.1,
           "epoch": round(epoch + (step + 1) / STEPS, 2)}, flush=True)

def log_done():
    print({"train_runtime": 4.2, "train_samples_per_second": 20.1, "train_loss": 1.1}, flush=True)
""",
    "timm": """
def log_step(epoch, step, loss):
    print(f"Train: {epoch} [{step:>4d}/{STEPS} ({100 * step / STEPS:>3.0f}%)]  Loss: {loss:#.3g} "
          f"({loss:#.3g})  Time: 0.051s, 78.12/s  (0.051s, 78.12/s)  LR: 1.000e-01", flush=True)

def log_eval(epoch, metric):
    print(f"Test: [   4/4]  Time: 0.020 (0.021)  Loss: 1.38  Acc@1: {100 * metric:.2f}", flush=True)
""",
    "fairseq": """
def log_step(epoch, step, loss):
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"{now} | INFO | train_inner | epoch {epoch + 1:03d}: {step + 1:6d} / {STEPS} loss="
          f"{loss:.3f}, ppl=4.1, wps=3120, ups=19.5, wpb=160, bsz=4, num_updates={step + 1}",
          file=sys.stderr, flush=True)

def log_done():
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} | INFO | fairseq_cli.train | done training in 4.1 "
          "seconds", file=sys.stderr, flush=True)
""",
    "detectron": """
def log_note(text):
    print(f"[{time.strftime('%m/%d %H:%M:%S')} d2.utils.events]: {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f" eta: 0:00:04  iter: {epoch * STEPS + step}  total_loss: {loss:.4f}  "
             "time: 0.0512  data_time: 0.0011  lr: 0.1  max_mem: 812M")
""",
    "absl": """
def log_note(text):
    now = time.strftime("%m%d %H:%M:%S") + f".{int(time.time() * 1e6) % 1000000:06d}"
    print(f"I{now} 140212345 train.py:112] {text}", file=sys.stderr, flush=True)

def log_step(epoch, step, loss):
    log_note(f"[{epoch * STEPS + step}] loss={loss:.4f}, steps_per_sec=19.5")
""",
    "syslog": """
def log_note(text):
    print(f"{time.strftime('%b %d %H:%M:%S')} trainer-{RANK} train[{os.getpid()}]: {text}",
          flush=True)

def log_step(epoch, step, loss):
    log_note(f"e{epoch} b{step} l={loss:.4f}")
""",
    "tokens": """
def log_step(epoch, step, loss):
    seen = 2048 * (epoch * STEPS + step + 1)
    print(f"[train] tokens seen {seen / 1e6:.3f}M, loss {loss:.4f}, 41.2k tok/s", flush=True)
""",
    "rank-colon": """
def log_note(text):
    print(f"{RANK}: {text}", flush=True)

def log_step(epoch, step, loss):
    log_note(f"Step #{epoch * STEPS + step}: LOSS {loss:.2e} (ERR 0)")
""",
    "rich-log": """
def log_note(text):
    print(f"[{time.strftime('%H:%M:%S')}] INFO     {text:<60} train.py:112", flush=True)

def log_step(epoch, step, loss):
    log_note(f"epoch {epoch} batch {step}/{STEPS} loss {loss:.4f}")
""",
    "structlog": """
def log_note(text):
    now = time.strftime("%Y-%m-%dT%H:%M:%S") + ".120412Z"
    print(f"{now} [info     ] {text:<30} [trainer] rank={RANK}", flush=True)

def log_step(epoch, step, loss):
    now = time.strftime("%Y-%m-%dT%H:%M:%S") + ".120412Z"
    print(f"{now} [info     ] {'step':<30} [trainer] batch={step} epoch={epoch} loss={loss:.4f}",
          flush=True)
""",
    "stderr-bare": """
def log_step(epoch, step, loss):
    sys.stderr.write(f"{epoch}/{step} {loss:.5f}\\n")
    sys.stderr.flush()
""",
    **FRAMEWORKS,
}

MUTE = frozenset({"nothing", "visualdl", "epochs-only", "dots"})
"""Those from which nothing can be seen of how far a rank came."""
