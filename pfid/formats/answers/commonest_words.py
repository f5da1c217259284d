"""Commonest words of languages, to know which one an answer is in, also one that nobody reads.

A language that no pattern file reads must be known for what it is: Dutch shares words with English
and German, and taken for either, each of its refusals would count as an answer.
"""

from collections.abc import Mapping
from typing import Final

_WORDS: Final = {
    "af": "die van en in is nie het 'n om dat vir met op te sy hy was ek aan word sal jy as my "
    "ons hulle kan maar ook wat by uit daar hierdie dit nog haar jou sou",
    "bg": "на и да се за от не по с в е са като че това си но ще при или до към тя той има след "
    "което ми ти ги го му ни бъде беше може аз вас",
    "ca": "el la els les de del dels i a al en que per amb no un una és com més també però o "
    "s'ha ha són aquest aquesta hi ho seu seva va van això em et us puc quan fins molt jo",
    "cs": "a se v na je že to s z do o k i jako za by ale po si jsem od jeho pro tak které ve "
    "už jen však byl byla nebo mi vám ti než při jsou může když není tento",
    "da": "og i det at en den til er som på de med han af for ikke der var mig sig men et har "
    "om vi min havde ham hun nu over da fra du ud sin dem os op kan jeg hvad eller blev "
    "din",
    "de": "der die das und ist in den von zu mit sich des auf für nicht ein eine dem es ich sie "
    "er wir als auch aus bei war an im dass wie noch aber hat oder einen du so am ihr man",
    "en": "the a an of to and in is it that for was on are with as at be this from by or not "
    "but you your i he she they we his her their my have has had will can which one all "
    "if",
    "es": "el la los las de del un una y es en que por para con no se su al lo como más pero "
    "sus le ya o fue este yo ha sí porque esta son entre cuando muy sin sobre también me",
    "et": "ja on ei et ta see ma kui oma ka mis aga oli kes nii siis ning mu sa või veel teda "
    "seda olen mind ole selle kuid teie saa nagu pole midagi üks te",
    "eu": "eta da ez bat du dut ere izan zen baina hau hori egin dira duen bere nik zuen oso "
    "nire dago edo beste den ditu horrek ezin",
    "fi": "ja on ei se että hän en oli mutta kun niin ovat minä sen joka olen mitä sinä voi "
    "myös tämä jos kuin ole siitä vain hänen minun voin sitä olisi nyt tai me te",
    "fr": "le la les de des du un une et est en que qui dans pour pas sur au par il elle je "
    "vous nous ne se ce avec plus son sa mais ou à aux était sont comme tu on cette ses",
    "gl": "o a os as de do da dos das e en que un unha non por para con se no na ao máis pero "
    "foi como é el ela seu súa eu moi xa tamén polo pola ata podo isto cando",
    "hr": "i je u se na da za od su s što ne to kao iz o koji ali bi sam sve ili do nije samo "
    "bio bila te mu mi smo kad može već još nego ja ti ovaj mogu",
    "hu": "a az és hogy nem is egy van ez de meg ha csak azt volt mint el mert már még ki én "
    "vagy tudok ezt aki sem minden lesz neki kell itt nagyon ön mi",
    "id": "yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke karena ada "
    "mereka sudah bisa kita dia atau seperti oleh kami kamu anda dapat adalah sebagai "
    "saat bukan",
    "is": "og að í á er það sem en um til við með af fyrir ekki var hann hún þetta ég frá hefur "
    "eru þú svo eins eða ef mér þeir verið mig get",
    "it": "il lo la i gli le di del della un una e è in che per con non si su al da dal come "
    "più ma sono era ha mi nel nella anche questo questa a o se ci alla io ho",
    "lt": "ir yra į kad su iš tai ne bet kaip buvo jis aš ar už taip nuo tik jo apie dar dėl po "
    "kas mano arba galiu jums jūs negaliu man",
    "lv": "un ir ar no uz par ka bet tas es kas nav bija viņš arī vai tā lai ja to pie kā man "
    "mēs pēc tikai jau viņa varu nevaru jums šo",
    "nb": "og i det er på en som å til med for av ikke at han jeg den har de var et om seg men "
    "så vi hun fra meg hadde du kan skal ble eller denne deg dette noe",
    "nl": "de het een en van in is dat op te ik niet zijn voor met die je er aan maar ook als "
    "om hij ze dan nog naar bij uit kan daar dit heeft was worden door over wel mijn u "
    "deze haar mee kunt jou ben",
    "pl": "i w nie się na z że do to jest jak o za po ale co tak od przez czy już dla są ja "
    "jego tylko był była mnie mi lub oraz ten przy który jeszcze może ze mogę ci tego by "
    "pan",
    "pt": "o a os as de do da um uma e é em que por para com não se no na dos das ao como mais "
    "mas foi ele ela seu sua ou eu quando muito nos já também pelo pela até isso",
    "ro": "și în de la a cu că nu pe o este un din care mai pentru se să ce sunt au fi dar sau "
    "am ca lui al ei prin era te îmi foarte pot acest această nici",
    "ru": "и в не на я что он с это как а но его к она по из у за от так же бы ты вы мы они для "
    "был была было о то её при или уже если когда все ещё только",
    "sk": "a sa v na je že to s z do o k aj ako za by ale po si som od jeho pre tak ktoré vo už "
    "len však bol bola alebo mi vám ti keď sú môže nie nemôžem tento",
    "sl": "in je se v na da za ne so z po kot ki bi pa tudi ali od ni iz sem ko še to lahko že "
    "bil pri ga mi če samo ta moj vam",
    "sq": "dhe në të e i një për me nga që ka është nuk si se do por më kjo ky janë u ose kur "
    "mund ishte unë ju tij saj ne",
    "sr": "и је у се на да за од су с што не то као из о који али би сам све или до није само "
    "био била му ми смо кад може већ још него ја ти овај могу",
    "sv": "och i att det som en på är av för med den till inte han de om ett men jag har hon så "
    "var sig från vi kan nu då man när ut skulle min dig mig eller över dem du din",
    "sw": "na ya wa kwa ni katika la za hii cha kuwa kama lakini pia si hiyo wake yake mimi huo "
    "sana watu hapa ili siwezi naweza wewe",
    "tl": "ang ng sa na at mga ay hindi ko siya ni mo kung para ito ako si may lang niya ka rin "
    "pa nang ikaw kanyang dahil sila wala ngunit",
    "tr": "ve bir bu da de için ile ne çok o ama daha gibi var ben olarak olan kadar sonra en "
    "mi değil ki her size bana sen şey yok ya şu onun beni nasıl konuda",
    "uk": "і в не на що з та до як за у це я й але його від він про по так для або є ви їх було "
    "був була вона мені якщо ще може можу бути цього вам їй ми",
    "vi": "và của là có không được cho một những các trong với tôi này đã để khi người như từ "
    "bạn thể đó về ra cũng đến anh nhưng lại còn rất nếu sẽ tại vì",
}
COMMONEST: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.split()) for code, words in _WORDS.items()
}
