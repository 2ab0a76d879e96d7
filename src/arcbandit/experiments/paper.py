"""The paper: its title, authors, citation and setting."""

from arcbandit.report.reproduction.entries import PaperEntry

PAPER = PaperEntry(
    title="Multi-Armed Bandits with Minimum Aggregated Revenue Constraints",
    authors=("Ahmed Ben Yahmed", "Hafedh El Ferchichi", "Marc Abeille", "Vianney Perchet"),
    venue="arXiv:2510.12523 (2025)",
    link="https://arxiv.org/abs/2510.12523",
    bibtex="""@misc{benyahmed2025,
  title = {Multi-Armed Bandits with Minimum Aggregated Revenue Constraints},
  author = {Ben Yahmed, Ahmed and El Ferchichi, Hafedh and Abeille, Marc and Perchet, Vianney},
  year = {2025},
  eprint = {2510.12523},
  archiveprefix = {arXiv}
}""",
    setting=(
        "Visitors of a platform ask for a genre (the context), and for each visitor the platform chooses whose film to "
        "show (the arm: a provider).",
        "What a provider earns in a genre is unknown, and is learned from one noisy reward per round.",
        "Every provider is promised a floor: a least revenue per round, summed over all genres.",
        "The best plan earns most among those that keep every floor: regret R sums by how much a policy's plans earn "
        "less than it, and violation V by how much they leave providers below their floors.",
        "OLP is optimistic and pays in violation, OPLP guards the floors and pays in regret, and on some instances "
        "nobody keeps both below the order of √T.",
    ),
)
