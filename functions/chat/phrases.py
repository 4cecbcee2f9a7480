"""What is said without a model, in the visitor's language; English where there is no translation."""

from __future__ import annotations

PHRASES = {
    "en": {
        "not_in_site": "{site} does not say anything about this. I looked for: {queries}.",
        "out_of_scope": "I can only answer questions about {site}. Ask me about it and I will look it up.",
        "extractive": "These passages of {site} come closest to your question:",
        "missing": "{site} does not say: {missing}",
        "contact": "You can ask the team: {contact}",
        "hello": "Happy to help! Ask me anything about {site}.",
        "unavailable": "I cannot look this up right now. Please try again in a moment.",
    },
    "es": {
        "not_in_site": "{site} no dice nada sobre esto. He buscado: {queries}.",
        "out_of_scope": "Solo puedo responder preguntas sobre {site}. Pregúntame y lo busco.",
        "extractive": "Estos pasajes de {site} son los más cercanos a tu pregunta:",
        "missing": "{site} no lo dice: {missing}",
        "contact": "Puedes preguntar al equipo: {contact}",
        "hello": "¡Con gusto! Pregúntame lo que quieras sobre {site}.",
        "unavailable": "Ahora mismo no puedo consultarlo. Inténtalo de nuevo en un momento.",
    },
    "fr": {
        "not_in_site": "{site} ne dit rien à ce sujet. J'ai cherché : {queries}.",
        "out_of_scope": "Je ne réponds qu'aux questions sur {site}. Posez-m'en une et je chercherai.",
        "extractive": "Voici les passages de {site} les plus proches de votre question :",
        "missing": "{site} ne le dit pas : {missing}",
        "contact": "Vous pouvez demander à l'équipe : {contact}",
        "hello": "Avec plaisir ! Posez-moi vos questions sur {site}.",
        "unavailable": "Je ne peux pas chercher pour le moment. Réessayez dans un instant.",
    },
    "de": {
        "not_in_site": "{site} sagt dazu nichts. Gesucht habe ich: {queries}.",
        "out_of_scope": "Ich beantworte nur Fragen zu {site}. Fragen Sie mich danach, und ich sehe nach.",
        "extractive": "Diese Stellen von {site} kommen Ihrer Frage am nächsten:",
        "missing": "{site} sagt nicht: {missing}",
        "contact": "Sie können das Team fragen: {contact}",
        "hello": "Gern! Fragen Sie mich etwas zu {site}.",
        "unavailable": "Ich kann gerade nicht nachsehen. Bitte versuchen Sie es gleich noch einmal.",
    },
    "it": {
        "not_in_site": "{site} non dice nulla al riguardo. Ho cercato: {queries}.",
        "out_of_scope": "Rispondo solo a domande su {site}. Chiedimi pure e cercherò.",
        "extractive": "Questi passaggi di {site} sono i più vicini alla tua domanda:",
        "missing": "{site} non lo dice: {missing}",
        "contact": "Puoi chiedere al team: {contact}",
        "hello": "Volentieri! Chiedimi quello che vuoi su {site}.",
        "unavailable": "Al momento non posso cercare. Riprova tra poco.",
    },
    "pt": {
        "not_in_site": "{site} não diz nada sobre isso. Procurei: {queries}.",
        "out_of_scope": "Só posso responder a perguntas sobre {site}. Pergunte e eu procuro.",
        "extractive": "Estas passagens de {site} são as mais próximas da sua pergunta:",
        "missing": "{site} não o diz: {missing}",
        "contact": "Pode perguntar à equipa: {contact}",
        "hello": "Com todo o gosto! Pergunte o que quiser sobre {site}.",
        "unavailable": "Neste momento não consigo procurar. Tente novamente daqui a pouco.",
    },
}


def phrase(key: str, language: str, **values: str) -> str:
    """The sentence `key` in `language`."""
    return PHRASES.get(language, PHRASES["en"])[key].format(**values)
