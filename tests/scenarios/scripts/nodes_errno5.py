import recipe


class Records(recipe.Samples):
    def read(self, index):
        if self.rank == 3 and index == 20:
            with open("/proc/self/mem", "rb") as record:
                record.read(64)
        return super().read(index)


rank, world = recipe.start()
recipe.train(rank, Records(rank), workers=1)
