import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5, 5)
    k = trial.suggest_int("k", 1, 8)
    act = trial.suggest_categorical("act", ["relu", "tanh"])
    return x**2 + abs(k - 3) + (act == "tanh")


if __name__ == "__main__":
    module = optunahub.load_module("samplers/numbo")
    study = optuna.create_study(sampler=module.GSSBOSampler(seed=0))
    study.optimize(objective, n_trials=100)
    print(study.best_params, study.best_value)
