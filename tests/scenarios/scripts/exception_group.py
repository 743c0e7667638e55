import asyncio

import recipe

rank, world = recipe.start()


async def fetch(shard):
    await asyncio.sleep(0)
    if rank == 1 and shard == 2:
        raise ValueError(f"shard {shard} has no manifest")


async def fetch_all():
    async with asyncio.TaskGroup() as group:
        for shard in range(4):
            group.create_task(fetch(shard))


def on_step(step):
    if step == 3:
        asyncio.run(fetch_all())


recipe.train(rank, on_step=on_step)
