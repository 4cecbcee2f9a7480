"""Words without meaning of their own: articles, pronouns, prepositions, conjunctions, auxiliaries. Data.

Short lists in the manner of Snowball's. The lists of yake, meant for key phrases, also hold verbs and adjectives
("give", "need", "used", "free"), so they serve only for languages without a list here. Negations are in none.
"""

from __future__ import annotations

STOP_WORDS = {
    "en": """a about above after again all also am an and any are as at be because been before being below between both but
        by can could d did do does doing down during each either every few for from further had has have having he her here
        hers him his how i if in into is it its itself just ll may me might more most must my of off on once only or other
        our ours out over own per re s same shall she should so some such t than that the their theirs them themselves then
        there these they this those through to too under until up ve very via was we were what when where whether which
        while who whom whose why will with within would yes you your yours yourself""",
    "es": """a al algo algun alguna algunas alguno algunos ante antes aquel aquella aunque asi cada como con contra cual cuales
        cualquier cuando cuanto de del desde donde dos durante e el ella ellas ello ellos en entre era eran eres es esa esas
        ese eso esos esta estaba estan estar estas este esto estos estoy fue fueron ha haber habia han has hasta hay he
        incluso la las le les lo los mas me mi mis mientras muy nos nosotros nuestra nuestras nuestro nuestros o os otra
        otras otro otros para pero poco por porque puede pueden puedes pues que quien quienes se sea sean segun ser si sido
        sobre son su sus tambien tan tanto te ti tiene tienen toda todas todo todos tras tu tus un una unas uno unos usted
        ustedes y ya yo""",
    "fr": """a afin ai ainsi apres au aux avant avec avez avoir avons c ca car ce cela celle celles celui ces cet cette chaque
        ceux chez comme comment d dans de depuis des donc dont du elle elles en encore entre es est et etaient etait etant
        etc ete etes etre eux il ils j je jusqu l la le les leur leurs lors lorsque lui m ma mais me meme memes mes mon n
        nos notre nous on ont ou oui par parmi pendant peut peuvent plus pour pouvez puis qu quand que quel quelle quelles
        quels qui s sa se selon sera seront ses si soit son sont sous sur t ta te tes toi ton tous tout toute toutes tres tu
        un une vers via vos votre vous y""",
    "de": """ab aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann darf das dass
        dein deine dem den denn der des die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen
        einer eines er es etwas euch euer fur gegen habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre
        ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jetzt kann konnen konnte man mein meine mich mir mit
        muss mussen nach noch nun nur ob oder per pro seid sein seine seinem seinen seiner seit sich sie sind so soll sollen
        solche sowie uber um und uns unser unsere unter vom von vor wann war waren warum was weil welche welcher wenn wer
        werden wie wir wird wo wurde wurden zu zum zur zwischen""",
    "it": """a abbiamo ad agli ai al alcune alcuni alla alle allo anche ancora avere aveva c che chi ci ciascun ciascuna cio
        come con contro cosa cui da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dopo dove due e
        ed entro era erano essere fa fino fra gia gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mentre mi
        mia mie mio nei negli nel nella nelle nello noi nostra nostre nostri nostro o ogni oppure per perche piu poi possono
        potete prima puo puoi quale quali quando quanto quella quelle quelli quello questa queste questi questo qui quindi se
        sei si sia sono stata stati stato su sua sue sugli sui sul sulla sulle suo suoi tra tu tua tue tuo tuoi tutta tutte
        tutti tutto un una uno vi voi vostra vostro""",
    "pt": """a ao aos apos as ate cada com como contra da das de dela deles depois desde do dos durante e ela elas ele eles em
        entre era eram essa essas esse esses esta estao estar estas este estes estou eu foi foram ha isso isto ja lhe lhes
        mais mas me mesmo meu meus minha minhas muito na nas no nos nossa nossas nosso nossos num numa o onde os ou outra
        outras outro outros para pela pelas pelo pelos pode podem por porque qual quais qualquer quando quanto que quem se
        seja sem ser sera seu seus so sob sobre sua suas tambem tao te tem ter teu toda todas todo todos tu tua um uma umas
        uns voce voces vos""",
}  # fmt: skip
